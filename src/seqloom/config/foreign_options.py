"""Options of other toolkits, by the names people try, and what does the same here."""

import re
from collections.abc import Container
from typing import NamedTuple

__all__ = ["OUTPUT_ANSWERS", "TRAINING_ANSWERS", "Answer", "answer_of"]

WIDTH = "--set model.encoder.width=256 --set model.decoder.width=256"
LAYERS = "--set model.encoder.layers=2 --set model.decoder.layers=2"

TRAINING_ANSWERS: dict[str, str] = {
    "epochs epoch n_epochs num_epochs max_epochs num_train_epochs passes": (
        "training is measured in updates, not in passes over the data; write "
        "--set training.updates=2000, or --set training.minutes=10 for a budget of time"
    ),
    "steps max_steps num_steps train_steps iterations n_iter max_iter max_updates": (
        "write --set training.updates=2000"
    ),
    "batch_size batch batchsize bs per_device_train_batch_size train_batch_size": (
        "a batch is filled up to a number of positions; write --set training.batch_tokens=2048, "
        "or --set training.batch_rows=64 to limit its rows"
    ),
    "lr learning_rate learningrate initial_lr max_lr eta step_size": (
        "write --set training.rate=0.001"
    ),
    "gpu gpus cuda use_gpu use_cuda n_gpu ngpu": "write --device cuda",
    "cpu no_cuda use_cpu no_gpu": "write --device cpu",
    "hidden_size hidden hidden_dim hidden_units rnn_size d_model dim units size": f"write {WIDTH}",
    "layers num_layers n_layers nlayers num_hidden_layers depth": f"write {LAYERS}",
    "heads num_heads n_heads nhead num_attention_heads": (
        "write --set model.encoder.heads=4 --set model.decoder.heads=4"
    ),
    "embedding_size embedding_dim emb_dim emb_size embed_dim word_vec_size": (
        "write --set model.embedding=256"
    ),
    "dropout drop dropout_rate": (
        "write --set model.encoder.dropout=0.3 --set model.decoder.dropout=0.3"
    ),
    "rnn lstm gru elman transformer architecture arch model_type rnn_type cell": (
        "choose the model with --model lstm, gru, elman, transformer or fast"
    ),
    "attention attention_type": "write --set model.decoder.attention.score=additive",
    "val validation validation_data val_data val_file dev dev_file dev_data eval_data eval_file "
    "valid_file valid_data validation_file": "name held-out data with --valid FILE",
    "val_split validation_split test_size valid_size split val_size dev_split": (
        "write --set data.valid_share=0.1"
    ),
    "test test_file test_data": (
        "train first, then measure the run with seqloom evaluate DIR FILE"
    ),
    "output_dir out_dir outdir save_dir model_dir save save_model checkpoint_dir checkpoint "
    "log_dir logdir experiment": "name the folder of the run with --run DIR",
    "train train_file train_data training_data data_path input_file dataset": (
        "name the data without an option, as in seqloom train FILE --run DIR"
    ),
    "text_column input_column source_column feature features x_column": (
        "name the column with --source COL"
    ),
    "label_column target_column output_column label labels y_column class_column": (
        "name the column and its kind with --target COL:label"
    ),
    "task task_type problem_type type": (
        "the kind of the target decides the task: write --target COL:label, COL:tags, COL:number "
        "or COL:series; text is the default"
    ),
    "optim optimiser": "write --set training.optimizer.kind=adamw",
    "momentum": "write --set training.optimizer.kind=sgd --set training.optimizer.momentum=0.9",
    "weight_decay wd l2_regularization": (
        "write --set training.optimizer.weight_decay=0.01, or --set training.l2=0.1"
    ),
    "scheduler lr_scheduler schedule lr_schedule lr_decay": "write --set training.decay=cosine",
    "warmup warmup_steps warmup_updates": "write --set training.warmup=400",
    "clip grad_clip max_grad_norm gradient_clip clip_grad gradient_clipping clip_grad_norm": (
        "write --set training.clip_norm=1.0"
    ),
    "early_stopping early_stop early_stopping_patience stop_after": (
        "training stops early by itself; write --set training.patience=5"
    ),
    "eval_every eval_steps valid_every validation_steps save_steps save_every": (
        "write --set training.validate_every=500"
    ),
    "label_smoothing smoothing": "write --set training.label_smoothing=0.1",
    "gradient_accumulation_steps accum_steps accumulation update_freq": (
        "write --set training.accumulate=4"
    ),
    "fp16 bf16 amp mixed_precision half": "write --set training.precision=bfloat16",
    "time max_time time_limit": "write --set training.minutes=10",
    "random_seed random_state manual_seed": "write --set seed=7",
    "seed": "write --set seed=7",
    "num_workers threads n_jobs jobs nproc num_threads": "write --workers 2",
    "resume resume_from continue restart resume_from_checkpoint": (
        "give the same command again: a run that exists goes on where it stopped"
    ),
    "pretrained pretrained_model init_from finetune fine_tune load load_model init": (
        "begin from another run with --from DIR"
    ),
    "vocab_size vocabulary_size vocab num_words max_features": (
        "write --set source.size=8000 --set target.size=8000"
    ),
    "tokenizer bpe subword sentencepiece tokenization": (
        "write --set source.unit=subword --set target.unit=subword"
    ),
    "char chars char_level character characters": (
        "write --set source.unit=character --set target.unit=character"
    ),
    "max_length max_len maxlen max_seq_len max_seq_length sequence_length": (
        "write --set data.max_source=200 --set data.max_target=200"
    ),
    "header has_header no_header": "write --set data.header=yes or --set data.header=no",
    "window_size lookback seq_len context_length input_length": "write --set source.window=96",
    "horizon pred_len forecast_horizon prediction_length": "write --set target.horizon=24",
    "season seasonality period freq frequency": "write --set target.season=24",
    "lower do_lower_case uncased lower_case": (
        "write --set source.lowercase=true --set target.lowercase=true"
    ),
}
OUTPUT_ANSWERS: dict[str, str] = {
    "beam_size num_beams beam_width beams": "write --beam 5",
    "num_return_sequences nbest": "write --n-best 3",
    "out output_file save_to": "outputs go to standard output: end the command with > FILE",
}
"""Names, with spaces between them, and the sentence that answers each: for training, and for
outputs."""


class Answer(NamedTuple):
    """What does the same here, and the command that it belongs to."""

    words: str
    command: str

    def fits(self, flags: Container[str]) -> bool:
        """Whether a command with these options can do as it says."""
        named = set(re.findall("--[a-z-]+", self.words))
        return all(flag in flags for flag in named) and ("--set" not in named or "--model" in flags)


_BY_NAME = {
    name: Answer(words, command)
    for command, answers in (("train", TRAINING_ANSWERS), ("predict", OUTPUT_ANSWERS))
    for names, words in answers.items()
    for name in names.split()
}


def answer_of(name: str) -> Answer | None:
    """The answer to an option of another toolkit, with or without its dashes; None where the name
    is not known."""
    return _BY_NAME.get(name.lstrip("-").replace("-", "_").lower())
