"""Why a result is not faster: rules over a run's measurements. Nothing here talks to a server."""
