"""What is known of the settings of MySQL and MariaDB, as `analyse.known_settings` has it."""
