"""What will be computed: frozen values, the same for the driver and for every executor."""
