"""Knowledge about the settings of PostgreSQL, for `analyse.known_settings`."""
