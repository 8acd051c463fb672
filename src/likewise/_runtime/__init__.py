"""What every fit runs on: threads, memory, progress and the validation of input."""
