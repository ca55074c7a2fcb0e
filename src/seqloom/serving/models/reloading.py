"""Reload models from their runs while requests are served."""

import asyncio

from seqloom.errors import ConfigError
from seqloom.scheduling.templates import Loader
from seqloom.serving.inputs import check_kinds
from seqloom.serving.models.stored import study
from seqloom.serving.service import Service

__all__ = ["reload_model", "renew_model"]


async def renew_model(service: Service, name: str, load: Loader) -> None:
    """Reload a model that is loaded on demand, from the next request on.

    Returns the error if it cannot be loaded or exceeds the memory limit; the old model then stays.
    """
    template, pool = service.scheduler.template, service.served.pool
    if template is not None and pool is not None:
        found = await asyncio.to_thread(study, template, name, load, service.limits.memory)
        await pool.renew(name, found)


def reload_model(service: Service, name: str, load: Loader) -> None:
    """Reload a model.

    ConfigError if its source or target has changed, since queued requests were encoded for the old
    one.
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
    service.served.put_model(name, model)
