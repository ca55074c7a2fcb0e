"""Models that are replaced by what their runs hold now, while requests are served."""

from seqloom.errors import ConfigError
from seqloom.scheduling.processes import Loader
from seqloom.serving.inputs import check_kinds
from seqloom.serving.service import Service

__all__ = ["reload_model"]


def reload_model(service: Service, name: str, load: Loader) -> None:
    """Serve a model as it is stored now.

    ConfigError where it no longer reads or writes the same, since requests that wait have been read
    for the old one.
    """
    model, old = load(), service.models[name]
    check_kinds(name, model)
    sides = (model.source, old.source), (model.target, old.target)
    if any(new.fingerprint != served.fingerprint for new, served in sides):
        raise ConfigError(
            f"{name}: it reads or writes other symbols than the model that is served",
            remedy="start the server anew",
        )
    if service.scheduler.template is None or model.as_text_predictor() is None:
        model.warm_up()
    service.replace_model(name, model)
