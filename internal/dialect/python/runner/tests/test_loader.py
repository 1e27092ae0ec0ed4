from __future__ import annotations

import os
import sys
from pathlib import Path

from plugins import PluginError, load_plugin_from_file
from plugins.models import PluginContext, ToolCall, ToolResult

from . import PluginCase


class LoaderTest(PluginCase):
    def load(self, text: str, name: str = "sample"):
        return load_plugin_from_file(self.write(name, text))

    def fault(self, text: str) -> PluginError:
        with self.assertRaises(PluginError) as caught:
            self.load(text)
        return caught.exception

    def test_metadata_is_the_dict(self):
        plugin = self.load('__plugin__ = {"api": "1.0", "name": "other", "version": "2"}')
        self.assertEqual(plugin.name, "other")
        self.assertEqual(plugin.metadata, {"api": "1.0", "name": "other", "version": "2"})

    def test_a_misspelt_decorator_says_which_was_meant(self):
        for typed, near in (("on_fnal", "on_final"), ("on_tool_calls", "on_tool_call")):
            plugin = self.load(f"@{typed}\nasync def f(ctx, text): pass\n@on_done\nasync def g(ctx): pass\n")
            told = f"there is no hook {typed}, so what it decorates handles nothing: did you mean @{near}?"
            self.assertEqual((plugin.warnings, list(plugin.hooks)), ([told], ["on_done"]))
            self.assertFalse(hasattr(plugin.module, typed))
        self.assertEqual(self.load("@on_xyzzy\ndef f(): pass\n").warnings, ["there is no hook on_xyzzy, so what it decorates handles nothing"])
        own = self.load("seen = []\ndef on_mine_alone(f):\n    seen.append(f)\n    return f\n@on_mine_alone\ndef f(): pass\n")
        self.assertEqual((own.warnings, len(own.module.seen)), ([], 1))
        fault = self.fault("@onfinal\nasync def f(ctx, text): pass\n")
        self.assertEqual(str(fault), "NameError: name 'onfinal' is not defined: did you mean on_final?")
        self.assertEqual(fault.line, 1)
        model = "NameError: name 'ToolResults' is not defined: did you mean ToolResult?"
        self.assertEqual(str(self.fault("print(ToolResults)")), model)
        self.assertEqual(str(self.fault("print(x)")), "NameError: name 'x' is not defined")

    def test_a_function_that_is_named_like_a_hook_and_handles_nothing_is_a_warning(self):
        warned = self.load("async def on_final(ctx, text): pass\nasync def on_fnal(ctx, text): pass\n").warnings
        self.assertEqual(warned, [
            "the function on_final handles nothing: did you mean to put @on_final before it?",
            "the function on_fnal handles nothing: did you mean to put @on_final before it?",
        ])
        quiet = self.load(
            "@on_final\nasync def f(ctx, text): pass\nasync def on_fnal(ctx): pass\n"
            "def once(): pass\nfrom os.path import join as on_done\n"
        )
        self.assertEqual(quiet.warnings, [])

    def test_a_decorator_that_is_called_says_how_to_write_it(self):
        fault = self.fault("@on_fnal\nasync def f(ctx, text): pass\n@on_done()\nasync def g(ctx): pass\n")
        self.assertEqual(str(fault), "TypeError: @on_done takes no arguments: write it without parentheses")
        self.assertEqual((fault.line, fault.fix), (3, "write @on_done without parentheses"))
        self.assertEqual(len(fault.warnings), 1)
        self.assertIn("did you mean @on_final?", fault.warnings[0])

    def test_a_handler_that_cannot_be_called_is_a_fault_of_the_file(self):
        for text, told, fix in (
            ("@on_final\ndef x(text): pass\n", "on_final is called with (ctx, text), but x takes (text)", "def x(ctx, text):"),
            ("@on_tool_result\nasync def r(ctx, result: ToolResult) -> None: pass\n",
             "on_tool_result is called with (ctx, call, result), but r takes (ctx, result)", "async def r(ctx, call, result):"),
            ("@on_done\nasync def d(): pass\n", "on_done is called with (ctx), but d takes ()", "async def d(ctx):"),
            ("@on_begin\nasync def b(ctx, *, key): pass\n", "on_begin is called with (ctx), but b takes (ctx, *, key)", "async def b(ctx):"),
        ):
            with self.subTest(text):
                fault = self.fault(text)
                self.assertEqual((str(fault), fault.line, fault.column), (f"the handler of {told}", 2, 1))
                self.assertEqual(fault.fix, f"write {fix}")

    def test_handlers_that_can_be_called_are_loaded(self):
        for text in (
            "def f(*args): pass", "def f(ctx, *rest, **more): pass", "def f(ctx, text, extra=1): pass",
            "def f(ctx, text, *, extra=1): pass", "async def f(a, b, /): pass", "def f(a='', b=''): pass",
            "class F:\n    def __call__(self, ctx, text): pass\nf = on_final(F())\ndef g(): pass",
            "import functools\ndef once(f):\n    @functools.wraps(f)\n    def g(ctx, text): return f(text)\n    return g\n@on_final\n@once\ndef f(text): pass",
        ):
            with self.subTest(text):
                decorated = text if "on_final" in text else f"@on_final\n{text}"
                self.assertEqual(list(self.load(decorated).hooks), ["on_final"])

    def test_odd_fields_of_the_metadata_are_warnings(self):
        warned = self.load('__plugin__ = {"nmae": "x", "verison": "1", "author": "me", "version": 3, "api_version": "1.0"}').warnings
        self.assertEqual(warned, [
            "'nmae' in __plugin__ is not used: did you mean 'name'?",
            "'verison' in __plugin__ is not used: did you mean 'version'?",
            "'version' in __plugin__ is not shown: it must be a string, not int",
            "'api_version' in __plugin__ is not used: did you mean 'api'?",
        ])
        self.assertEqual(warned[2].fix, 'write "version": "3"')

    def test_faults_say_how_to_fix_them(self):
        for text, fix in (("x = = 1", "correct line 1, which is not valid Python"), ('__plugin__ = {"api": "2.0"}', 'write "api": "1.0"'),
                          ("exit(3)", "remove what ends the program: the file is loaded into an interpreter that other plugins use too")):
            self.assertEqual(self.fault(text).fix, fix)

    def test_only_a_regular_file_is_read(self):
        os.mkfifo(self.dir / "pipe.py")
        (self.dir / "folder.py").mkdir()
        for path in (self.dir / "pipe.py", self.dir / "folder.py", Path("/dev/zero")):
            with self.assertRaisesRegex(PluginError, "cannot be read: "):
                load_plugin_from_file(path)

    def test_a_huge_file_is_refused(self):
        path = self.write("huge", "")
        os.truncate(path, 1 << 40)
        with self.assertRaisesRegex(PluginError, "more than 4 MiB"):
            load_plugin_from_file(path)

    def test_a_file_s_name_is_its_own(self):
        text = '__plugin__ = {"name": "other"}'
        self.assertEqual(self.load(text).name, "other")
        self.write("other", "")
        plugin = self.load(text)
        self.assertEqual((plugin.name, plugin.called, plugin.metadata["name"]), ("sample", "other", "other"))

    def test_a_name_that_several_files_declare_is_that_of_the_first(self):
        text = '__plugin__ = {"name": "same"}'
        self.write("zeta", text)
        self.assertEqual(self.load(text).name, "same")
        self.write("alpha", text)
        plugin = self.load(text)
        self.assertEqual((plugin.name, plugin.called), ("sample", "same"))

    def test_a_name_that_is_not_a_plugin_s_file(self):
        self.write("__init__", "")
        for name in ("__init__", "../tests/other", "a name", "."):
            self.assertEqual(self.load(f"__plugin__ = {{'name': {name!r}}}").name, name)

    def test_the_name_defaults_to_the_file_s(self):
        plugin = self.load("")
        self.assertEqual(plugin.name, "sample")
        self.assertEqual(plugin.metadata, {"api": "1.0", "name": "sample"})

    def test_any_minor_version_of_api_1_will_do(self):
        for api in ('"1.0"', '"1"', '"1.7"', "1.0", "1"):
            with self.subTest(api):
                self.assertEqual(self.load(f'__plugin__ = {{"api": {api}}}').name, "sample")

    def test_another_major_version_is_refused(self):
        error = self.fault('"""Doc."""\n__plugin__ = {"api": "2.0"}')
        self.assertEqual(str(error), "Incompatible plugin API version: 2.0 (expected 1.0)")
        self.assertEqual((error.line, error.column), (2, 1))

    def test_an_invalid_version_is_refused(self):
        self.assertIn("Incompatible plugin API version: None", str(self.fault('__plugin__ = {"api": None}')))
        self.assertIn("Incompatible plugin API version: 10.0", str(self.fault('__plugin__ = {"api": "10.0"}')))

    def test_metadata_must_be_a_dict_and_its_name_a_line(self):
        self.assertEqual(str(self.fault("__plugin__ = 7")), "__plugin__ must be a dict, not int")
        for name in ("7", '""', '"a\\nb"', '"x" * 65'):
            with self.subTest(name):
                self.assertIn("the name in __plugin__", str(self.fault(f'__plugin__ = {{"name": {name}}}')))

    def test_hooks_come_in_the_order_of_a_request(self):
        plugin = self.load(
            """
            @on_done
            async def a(ctx): pass
            @on_begin
            async def z(ctx): pass
            @on_final
            def m(ctx, text): pass
            """
        )
        self.assertEqual(list(plugin.hooks), ["on_begin", "on_final", "on_done"])

    def test_of_two_handlers_the_last_by_name_is_used_with_a_warning(self):
        plugin = self.load(
            """
            @on_begin
            async def zeta(ctx): pass
            @on_begin
            async def alpha(ctx): pass
            """
        )
        self.assertEqual(plugin.hooks["on_begin"].__name__, "zeta")
        self.assertEqual(plugin.warnings, ["on_begin has two handlers, alpha and zeta: zeta is used"])

    def test_two_names_of_one_handler_are_not_a_duplicate(self):
        plugin = self.load("@on_begin\nasync def f(ctx): pass\ng = f\n")
        self.assertEqual(plugin.warnings, [])

    def test_one_function_may_handle_two_hooks(self):
        plugin = self.load("@on_begin\n@on_done\nasync def f(ctx): pass\n")
        self.assertEqual(list(plugin.hooks), ["on_begin", "on_done"])

    def test_a_handler_with_a_yield_never_runs_and_there_is_a_warning(self):
        for text in ("async def stop(ctx): yield 1", "def stop(ctx): yield 1"):
            plugin = self.load(f"@on_done\n{text}\n")
            told = "stop, the handler of on_done, has a yield: calling it only makes a generator, and its code never runs"
            self.assertEqual(plugin.warnings, [told])
            self.assertIn("remove the yield", plugin.warnings[0].fix)

    def test_a_decorated_method_of_a_class_is_a_warning(self):
        plugin = self.load("class Sign:\n    @on_final\n    async def sign(self, ctx, text): pass\n")
        told = "@on_final before the method Sign.sign has no effect: only functions outside of classes are called"
        self.assertEqual((plugin.hooks, plugin.warnings), ({}, [told]))

    def test_models_and_decorators_are_injected(self):
        plugin = self.load("found = (PluginContext, ToolCall, ToolResult, on_begin.__name__)")
        self.assertEqual(plugin.module.found, (PluginContext, ToolCall, ToolResult, "on_begin"))

    def test_nothing_else_is_injected(self):
        self.assertIn("NameError", str(self.fault("time.time()")))

    def test_the_package_s_own_names_are_the_same_things(self):
        plugin = self.load(
            """
            from plugins.models import ToolCall as T
            from plugins.decorators import on_begin as b
            same = T is ToolCall and b is on_begin
            """
        )
        self.assertTrue(plugin.module.same)

    def test_a_dataclass_with_future_annotations_works(self):
        plugin = self.load(
            """
            from __future__ import annotations
            from dataclasses import dataclass
            @dataclass
            class A:
                x: int
            """
        )
        self.assertEqual(plugin.module.A(1).x, 1)

    def test_future_statements_of_the_loader_do_not_reach_plugins(self):
        plugin = self.load("def f(x: int): pass\nkind = f.__annotations__['x']")
        self.assertIs(plugin.module.kind, int)

    def test_a_syntax_error_has_its_place(self):
        error = self.fault("x = 1\ndef f(:\n    pass\n")
        self.assertTrue(str(error).startswith("SyntaxError: "), error)
        self.assertEqual((error.line, error.column), (2, 7))

    def test_an_error_while_it_runs_has_its_place(self):
        error = self.fault("def f():\n    raise RuntimeError('no luck')\n\nf()\n")
        self.assertEqual(str(error), "RuntimeError: no luck")
        self.assertEqual(error.line, 2)

    def test_an_error_in_what_it_imports_is_placed_at_the_import(self):
        (self.home / "broken_helper.py").write_text("def f(:\n")
        error = self.fault(f"import sys\nsys.path.insert(0, {str(self.home)!r})\nimport broken_helper\n")
        self.assertEqual(error.line, 3)

    def test_the_error_of_a_missing_module_says_for_which_python_to_install_it(self):
        error = self.fault("import no_such_module_anywhere")
        self.assertEqual(error.fix, f"install the module no_such_module_anywhere for {sys.executable}")

    def test_a_module_that_the_package_does_not_have_cannot_be_installed(self):
        error = self.fault("from plugins.hooks import on_begin")
        self.assertEqual(error.fix, "remove the import: the decorators, ToolCall and ToolResult are there without one")

    def test_a_plugin_that_exits_is_refused(self):
        self.assertEqual(str(self.fault("raise SystemExit(3)")), "SystemExit: 3")
        self.assertEqual(str(self.fault("import asyncio\nraise asyncio.CancelledError('x')")), "CancelledError: x")

    def test_a_file_that_is_not_text_is_refused(self):
        path = self.write("sample", "")
        for data in (b"\xff\xfe", b"x = '\x00'", b"# coding: no-such\n"):
            with self.subTest(data):
                path.write_bytes(data)
                with self.assertRaises(PluginError):
                    load_plugin_from_file(path)

    def test_a_declared_encoding_counts(self):
        path = self.write("sample", "")
        path.write_bytes("# coding: latin-1\nword = 'é'\n".encode("latin-1"))
        self.assertEqual(load_plugin_from_file(path).module.word, "é")

    def test_a_missing_file(self):
        with self.assertRaisesRegex(FileNotFoundError, "Plugin file not found: .*nowhere.py"):
            load_plugin_from_file(self.dir / "nowhere.py")

    def test_a_load_that_fails_leaves_no_module_behind(self):
        before = set(sys.modules)
        self.fault("1/0")
        self.assertEqual({m for m in set(sys.modules) - before if m.startswith("plugin_")}, set())

    def test_the_description_is_the_docstring_s_first_line(self):
        self.assertEqual(self.load('"""\n  Logs things.\nAnd more.\n"""').description, "Logs things.")
        self.assertEqual(self.load('__plugin__ = {"description": "Says so."}').description, "Says so.")
        self.assertEqual(self.load("").description, "")

    def test_objects_that_answer_every_getattr_are_not_handlers(self):
        plugin = self.load(
            """
            from unittest import mock
            m = mock.MagicMock()
            class Odd:
                def __getattribute__(self, name): raise RuntimeError(name)
            o = Odd()
            """
        )
        self.assertEqual(plugin.hooks, {})

    def test_a_decorator_on_something_else_is_an_error(self):
        self.assertIn("@on_begin is for functions, not for int", str(self.fault("on_begin(7)")))
