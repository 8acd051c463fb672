"""What every fit runs on: threads, memory, progress, validation of input, imports on first use."""
