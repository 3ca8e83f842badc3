"""How the help looks: its sections, its language, and how its lines are broken."""
