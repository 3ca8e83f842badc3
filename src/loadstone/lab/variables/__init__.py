"""Sets server variables temporarily, with a journal, and restores them."""
