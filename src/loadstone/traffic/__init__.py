"""What a server was asked: read from its logs and digests, made into templates, and replayed."""
