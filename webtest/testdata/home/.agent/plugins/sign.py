"""Signs what the model says. A python plugin for the tests of the web page."""

__plugin__ = {"api": "1.0", "name": "sign"}


@on_final
async def sign(ctx, text):
    return text + "\n\n-- signed"
