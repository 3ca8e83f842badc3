"""Why it is not faster: rules over what a run measured. Nothing here talks to a server."""
