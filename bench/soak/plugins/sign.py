"""A python plugin that signs every answer, so that one can see that it was asked."""

__plugin__ = {"api": "1.0", "name": "sign"}


@on_final
async def sign(ctx, text):
    return text + " (signed)"
