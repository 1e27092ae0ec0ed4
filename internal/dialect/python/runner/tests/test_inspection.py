from __future__ import annotations

from pathlib import Path

from plugins import PluginError, load_plugin_from_file
from plugins.inspection import inspect_plugin_source

from . import PluginCase

WHOLE = '''"""Says it louder.

At length."""
__plugin__ = {"api": "1.1", "name": "loud", "tags": ["a", 1]}
import functools

def wrapped(f):
    return functools.wraps(f)(f)

@on_final
@wrapped
async def shout(ctx, text):
    return text.upper()

@on_begin
def begin(ctx):
    pass

if True:
    @on_done
    async def done(ctx):
        pass
'''


class InspectionTest(PluginCase):
    def inspect(self, text: str):
        return inspect_plugin_source(text, Path("/plugins/sample.py"))

    def fault(self, text: str) -> PluginError:
        with self.assertRaises(PluginError) as caught:
            self.inspect(text)
        return caught.exception

    def test_it_says_what_loading_says(self):
        for text in (WHOLE, "", "x = 1", "@on_done\nasync def a(ctx): pass\n@on_done\nasync def b(ctx): pass\n",
                     "__plugin__ = {'description': 'short'}\n", "@on_final\ndef f(ctx, text): pass\ndef f(): pass\n",
                     "class on:\n    @on_final\n    def f(self): pass\n",
                     "@on_finish\nasync def f(ctx): pass\n",
                     "@on_final\ndef f(ctx, text):\n    return {'text': text} if text else [text]\n",
                     "@on_done\nasync def f(ctx):\n    yield 1\n", "@on_done\ndef f(ctx):\n    x = [(yield from ctx)]\n",
                     "@on_done\ndef f(ctx):\n    def g():\n        yield 1\n    return list(g())\n"):
            with self.subTest(text):
                inspected, loaded = self.inspect(text), load_plugin_from_file(self.write("sample", text))
                for name in ("name", "metadata", "description", "warnings"):
                    self.assertEqual(getattr(inspected, name), getattr(loaded, name))
                self.assertEqual(list(inspected.hooks), list(loaded.hooks))

    def test_it_refuses_what_loading_refuses(self):
        for text in ("def f(:", "return 1", "__plugin__ = {'api': '2.0'}", "__plugin__ = 7", "x = 1\n__plugin__ = {'name': ''}",
                     "@finish\nasync def f(ctx): pass\n", "x = '\0'", "@on_final\ndef f(text): pass\n",
                     "@on_begin\nasync def b(ctx, *, key): pass\n", "@on_done\nasync def d(): pass\n"):
            with self.subTest(text):
                inspected = self.fault(text)
                with self.assertRaises(PluginError) as caught:
                    load_plugin_from_file(self.write("sample", text))
                loaded = caught.exception
                self.assertEqual((str(inspected), inspected.line), (str(loaded), loaded.line))

    def test_a_decorator_that_is_called(self):
        error = self.fault("x = 1\n@on_final()\nasync def f(ctx, text): pass\n")
        self.assertIn("without parentheses", str(error))
        self.assertEqual((error.line, error.column), (2, 2))

    def test_decorators_that_cannot_be_known_without_running_are_allowed(self):
        for text in ("from os import *\n@elsewhere\ndef f(): pass\n", "exec('on_x = print')\n@on_x\ndef f(): pass\n",
                     "import a.b as c\n@c\ndef f(): pass\n", "for d in [print]: pass\n@d\ndef f(): pass\n"):
            with self.subTest(text):
                self.inspect(text)

    def test_metadata_that_is_known_only_once_it_runs(self):
        plugin = self.inspect("__plugin__ = dict(name='x')\n")
        self.assertEqual((plugin.name, plugin.metadata), ("sample", {"api": "1.0", "name": "sample"}))
        self.assertEqual(plugin.warnings, ["the value of __plugin__ is known only once the code runs"])

    def test_code_that_is_too_deep(self):
        self.fault("x = " + "(" * 5000 + ")" * 5000)
        self.fault("__plugin__ = " + "-" * 200_000 + "1")

    def test_misspelt_hooks_say_which_were_meant(self):
        fault = self.fault("@onfinal\nasync def f(ctx, text): pass\n")
        self.assertEqual(str(fault), "NameError: name 'onfinal' is not defined: did you mean on_final?")
        told = "there is no hook on_fnal, so what it decorates handles nothing: did you mean @on_final?"
        self.assertEqual(self.inspect("@on_fnal\nasync def f(ctx, text): pass\n").warnings, [told])
        plugin = self.inspect("async def on_begn(ctx): pass\n")
        told = "the function on_begn handles nothing: did you mean to put @on_begin before it?"
        self.assertEqual(plugin.warnings, [told])
