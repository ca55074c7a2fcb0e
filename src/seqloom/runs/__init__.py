"""One training run: its prepared data, learner, workers, progress and saved contents."""
