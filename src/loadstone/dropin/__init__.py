"""What the stand-ins for other programs share: a run's folder, others at work, remarks of ours."""
