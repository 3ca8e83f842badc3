"""What a person sees on stderr while a command works."""
