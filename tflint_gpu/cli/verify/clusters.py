"""`verify --executor ray`: the cluster that experiments are spread over, and what its machines choose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from tflint_gpu.reports.summary import plural

if TYPE_CHECKING:
    from tflint_gpu.gpu.cards import Choice
    from tflint_gpu.verify.experiments.cluster import Cluster


def cluster_asked_for(given: dict[str, Any]) -> Cluster | None:
    """The cluster that experiments are spread over, if one was asked for.

    Raises:
        click.ClickException: there is none, or it has no card and one was asked for.
    """
    if given["executor"] == "local":
        return None
    from tflint_gpu.checking.cluster import NoCluster
    from tflint_gpu.verify.experiments.cluster import Cluster

    if given["keep"] is not None:
        raise click.UsageError("--executor ray and --keep cannot be combined: the programs are on other machines")
    device = given["device"]
    if device.startswith("gpu:"):
        raise click.UsageError(f"--executor ray and --device {device} cannot be combined: use auto, gpu or cpu")
    try:
        return Cluster({"gpu": True, "cpu": False}.get(device))
    except NoCluster as error:
        raise click.ClickException(f"--executor ray: {error}") from error


def choice_on(cluster: Cluster, choose: Callable[[], Choice]) -> Choice:
    """What a place of the cluster chooses; all are taken to be alike."""
    from tflint_gpu.checking.cluster import NoCluster

    try:
        choice = cluster.ask(choose)
    except NoCluster as error:
        raise click.ClickException(f"--executor ray: {error}") from error
    places = plural(len(cluster.slots), "experiment")
    return replace(choice, note=f"{choice.note}; " * bool(choice.note) + f"on Ray, {places} at a time")
