"""A training run: prepared data, learner, workers, progress and saved contents."""
