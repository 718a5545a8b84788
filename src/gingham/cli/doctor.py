"""`gingham doctor`: what is damaged in a checkpoint, and what can be repaired."""

import click

from gingham.stream.doctor import Examination, examine


def doctor(checkpoint: str, *, repair: bool) -> bool:
    """Print what was found in a checkpoint, and repair it if asked; False if damage is left."""
    examination = examine(checkpoint)
    _show(examination, repair=repair)
    if repair and any(finding.repair for finding in examination.findings):
        # A repair may uncover what was hidden behind the damage.
        for finding in examination.findings:
            if finding.repair is not None:
                finding.repair()
        examination = examine(checkpoint)
        click.echo("after the repair:")
        _show(examination, repair=False)
    for log, where in examination.goes_on.items():
        click.echo(f"{log} {'is whole up to' if examination.damage else 'goes on after'} {where}")
    if examination.damage:
        click.echo(
            "a copy of the checkpoint from before the damage goes on from its own last entry, "
            "if the source still has what came after it"
        )
    return not examination.damage


def _show(examination: Examination, *, repair: bool) -> None:
    """Print what was found, the damage first."""
    if not examination.findings:
        click.echo("nothing is damaged")
    for finding in sorted(examination.findings, key=lambda finding: not finding.is_damage):
        click.echo(f"{'damaged' if finding.is_damage else 'left over'}: {finding.what}")
        if finding.repair is not None:
            click.echo(f"  {'repaired' if repair else '--repair'}: {finding.repaired}")
