"""Rules for hosts, networks and the generator, a file each; a server family's are in its folder."""
