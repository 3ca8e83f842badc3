"""Server variables: set for a while, journaled, and put back."""
