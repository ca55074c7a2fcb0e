"""Options of other toolkits, by the names people try, and what does the same here."""

from typing import NamedTuple

from seqloom.remedies import Command, Remedy, Setting

__all__ = ["OUTPUT_ANSWERS", "TRAINING_ANSWERS", "Answer", "answer_of"]

TRAINING_ANSWERS: dict[str, Remedy] = {
    "epochs epoch n_epochs num_epochs max_epochs num_train_epochs passes": Remedy(
        "training is measured in updates, not in passes over the data; write {}, or {} for a "
        "budget of time",
        Setting("training.updates", 2000),
        Setting("training.minutes", 10),
    ),
    "steps max_steps num_steps train_steps iterations n_iter max_iter max_updates": Remedy(
        "write {}", Setting("training.updates", 2000)
    ),
    "batch_size batch batchsize bs per_device_train_batch_size train_batch_size": Remedy(
        "a batch is filled up to a number of positions; write {}, or {} to limit its rows",
        Setting("training.batch_tokens", 2048),
        Setting("training.batch_rows", 64),
    ),
    "lr learning_rate learningrate initial_lr max_lr eta step_size": Remedy(
        "write {}", Setting("training.rate", 0.001)
    ),
    "gpu gpus cuda use_gpu use_cuda n_gpu ngpu": Remedy(
        "write {}", Setting("training.device", "cuda")
    ),
    "cpu no_cuda use_cpu no_gpu": Remedy("write {}", Setting("training.device", "cpu")),
    "hidden_size hidden hidden_dim hidden_units rnn_size d_model dim units size": Remedy(
        "write {} and {}", Setting("model.encoder.width", 256), Setting("model.decoder.width", 256)
    ),
    "layers num_layers n_layers nlayers num_hidden_layers depth": Remedy(
        "write {} and {}", Setting("model.encoder.layers", 2), Setting("model.decoder.layers", 2)
    ),
    "heads num_heads n_heads nhead num_attention_heads": Remedy(
        "write {} and {}", Setting("model.encoder.heads", 4), Setting("model.decoder.heads", 4)
    ),
    "embedding_size embedding_dim emb_dim emb_size embed_dim word_vec_size": Remedy(
        "write {}", Setting("model.embedding", 256)
    ),
    "dropout drop dropout_rate": Remedy(
        "write {} and {}",
        Setting("model.encoder.dropout", 0.3),
        Setting("model.decoder.dropout", 0.3),
    ),
    "rnn lstm gru elman transformer architecture arch model_type rnn_type cell": Remedy(
        "choose the model with {}, gru, elman, transformer or fast", Setting("model", "lstm")
    ),
    "attention attention_type": Remedy(
        "write {}", Setting("model.decoder.attention.score", "additive")
    ),
    "val validation validation_data val_data val_file dev dev_file dev_data eval_data eval_file "
    "valid_file valid_data validation_file": Remedy(
        "name held-out data with {}", Setting("valid", "FILE")
    ),
    "val_split validation_split test_size valid_size split val_size dev_split": Remedy(
        "write {}", Setting("data.valid_share", 0.1)
    ),
    "test test_file test_data": Remedy(
        "train first, then measure the run with {}", Command("evaluate", "DIR", "FILE")
    ),
    "output_dir out_dir outdir save_dir model_dir save save_model checkpoint_dir checkpoint "
    "log_dir logdir experiment": Remedy(
        "name the folder of the run with {}", Setting("run", "DIR")
    ),
    "train train_file train_data training_data data_path input_file dataset": Remedy(
        "name the data without an option, as in {}", Command("train", "FILE", Setting("run", "DIR"))
    ),
    "text_column input_column source_column feature features x_column": Remedy(
        "name the column with {}", Setting("data.source", "COL")
    ),
    "label_column target_column output_column label labels y_column class_column": Remedy(
        "name the column and its kind with {}", Setting("target.kind", "label")
    ),
    "task task_type problem_type type": Remedy(
        "the kind of the target decides the task: write {}, or tags, number or series in place "
        "of label; text is the default",
        Setting("target.kind", "label"),
    ),
    "optim optimiser": Remedy("write {}", Setting("training.optimizer.kind", "adamw")),
    "momentum": Remedy(
        "write {} and {}",
        Setting("training.optimizer.kind", "sgd"),
        Setting("training.optimizer.momentum", 0.9),
    ),
    "weight_decay wd l2_regularization": Remedy(
        "write {}, or {}",
        Setting("training.optimizer.weight_decay", 0.01),
        Setting("training.l2", 0.1),
    ),
    "scheduler lr_scheduler schedule lr_schedule lr_decay": Remedy(
        "write {}", Setting("training.decay", "cosine")
    ),
    "warmup warmup_steps warmup_updates": Remedy("write {}", Setting("training.warmup", 400)),
    "clip grad_clip max_grad_norm gradient_clip clip_grad gradient_clipping clip_grad_norm": Remedy(
        "write {}", Setting("training.clip_norm", 1.0)
    ),
    "early_stopping early_stop early_stopping_patience stop_after": Remedy(
        "training stops early by itself; write {}", Setting("training.patience", 5)
    ),
    "eval_every eval_steps valid_every validation_steps save_steps save_every": Remedy(
        "write {}", Setting("training.validate_every", 500)
    ),
    "label_smoothing smoothing": Remedy("write {}", Setting("training.label_smoothing", 0.1)),
    "gradient_accumulation_steps accum_steps accumulation update_freq": Remedy(
        "write {}", Setting("training.accumulate", 4)
    ),
    "fp16 bf16 amp mixed_precision half": Remedy(
        "write {}", Setting("training.precision", "bfloat16")
    ),
    "time max_time time_limit": Remedy("write {}", Setting("training.minutes", 10)),
    "random_seed random_state manual_seed": Remedy("write {}", Setting("seed", 7)),
    "seed": Remedy("write {}", Setting("seed", 7)),
    "num_workers threads n_jobs jobs nproc num_threads": Remedy(
        "write {}", Setting("training.workers", 2)
    ),
    "resume resume_from continue restart resume_from_checkpoint": Remedy(
        "give the same command again: a run that exists goes on where it stopped"
    ),
    "base pretrained pretrained_model init_from finetune fine_tune load load_model init": Remedy(
        "begin from another run with {}", Setting("base", "DIR")
    ),
    "vocab_size vocabulary_size vocab num_words max_features": Remedy(
        "write {} and {}", Setting("source.size", 8000), Setting("target.size", 8000)
    ),
    "tokenizer bpe subword sentencepiece tokenization": Remedy(
        "write {} and {}", Setting("source.unit", "subword"), Setting("target.unit", "subword")
    ),
    "char chars char_level character characters": Remedy(
        "write {} and {}", Setting("source.unit", "character"), Setting("target.unit", "character")
    ),
    "max_length max_len maxlen max_seq_len max_seq_length sequence_length": Remedy(
        "write {} and {}", Setting("data.max_source", 200), Setting("data.max_target", 200)
    ),
    "header has_header no_header": Remedy(
        "write {} or {}", Setting("data.header", "yes"), Setting("data.header", "no")
    ),
    "window_size lookback seq_len context_length input_length": Remedy(
        "write {}", Setting("source.window", 96)
    ),
    "horizon pred_len forecast_horizon prediction_length": Remedy(
        "write {}", Setting("target.horizon", 24)
    ),
    "season seasonality period freq frequency": Remedy("write {}", Setting("target.season", 24)),
    "lower do_lower_case uncased lower_case": Remedy(
        "write {} and {}", Setting("source.lowercase", True), Setting("target.lowercase", True)
    ),
}
OUTPUT_ANSWERS: dict[str, Remedy] = {
    "beam_size num_beams beam_width beams": Remedy("write {}", Setting("search.beam", 5)),
    "num_return_sequences nbest": Remedy("write {}", Setting("n_best", 3)),
    "out output_file save_to": Remedy("outputs go to standard output: end the command with > FILE"),
}
"""Names, with spaces between them, and what to do instead: for training, and for outputs."""


class Answer(NamedTuple):
    """What does the same here, and the command that it belongs to."""

    remedy: Remedy
    command: str


_BY_NAME = {
    name: Answer(remedy, command)
    for command, answers in (("train", TRAINING_ANSWERS), ("predict", OUTPUT_ANSWERS))
    for names, remedy in answers.items()
    for name in names.split()
}


def answer_of(name: str) -> Answer | None:
    """The answer to an option of another toolkit, with or without its dashes; None where the name
    is not known."""
    return _BY_NAME.get(name.lstrip("-").replace("-", "_").lower())
