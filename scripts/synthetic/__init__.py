"""Makes the synthetic training corpus: note bodies written by hand, their slots filled from pools."""
