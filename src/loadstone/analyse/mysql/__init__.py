"""Knowledge about the settings of MySQL and MariaDB, for `analyse.known_settings`."""
