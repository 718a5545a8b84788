"""Plans: frozen values that say what is computed, for the driver and for every executor."""
