from __future__ import annotations

import os

from plugins import PluginError, PluginRegistry

from . import PluginCase


class RegistryTest(PluginCase):
    def setUp(self) -> None:
        super().setUp()
        self.registry = PluginRegistry(self.dir)

    def test_discover(self):
        self.write("logger", "")
        self.write("footer", "")
        self.assertEqual(self.registry.discover(), ["footer", "logger"])

    def test_every_name_that_is_discovered_can_be_loaded(self):
        self.write("we ird näme", "")
        self.assertEqual([self.registry.load(name).name for name in self.registry.discover()], ["we ird näme"])

    def test_modules_are_cached_until_reloaded(self):
        path = self.write("a", "x = 1")
        first = self.registry.load("a")
        path.write_text("x = 2")
        self.assertIs(self.registry.load("a"), first)
        self.assertEqual(self.registry.reload("a").module.x, 2)
        self.assertEqual(self.registry.load("a").module.x, 2)

    def test_a_reload_that_fails_keeps_the_old_module(self):
        path = self.write("a", "x = 1")
        first = self.registry.load("a")
        path.write_text("x = ")
        with self.assertRaises(PluginError):
            self.registry.reload("a")
        self.assertIs(self.registry.load("a"), first)

    def test_a_plugin_by_the_name_it_calls_itself(self):
        self.write("file", "__plugin__ = {'name': 'its own'}")
        self.write("broken", "def f(:")
        self.assertEqual(self.registry.load("its own").path.stem, "file")
        self.assertIs(self.registry.load("file"), self.registry.load("its own"))
        self.assertEqual(self.registry.reload("its own").path.stem, "file")

    def test_a_file_s_name_goes_before_what_another_calls_itself(self):
        self.write("a", "__plugin__ = {'name': 'b'}")
        self.write("b", "")
        self.assertEqual(self.registry.load("b").path.stem, "b")
        self.assertEqual(self.registry.load("a").name, "a")

    def test_an_unknown_plugin(self):
        with self.assertRaisesRegex(ValueError, "Plugin not found: missing"):
            self.registry.load("missing")

    def test_a_name_that_leads_elsewhere_is_invalid(self):
        with self.assertRaisesRegex(ValueError, "Invalid plugin name"):
            self.registry.load("../../etc/passwd")

    def test_load_many_keeps_the_order(self):
        for name in ("a", "b", "c"):
            self.write(name, "")
        self.assertEqual([p.name for p in self.registry.load_many(["c", "a", "b"])], ["c", "a", "b"])

    def test_load_many_fails_with_the_first_that_cannot_be_loaded(self):
        self.write("good", "")
        self.write("bad", "1/0")
        with self.assertRaisesRegex(ValueError, "Plugin not found: missing"):
            self.registry.load_many(["good", "missing", "bad"])
        with self.assertRaisesRegex(PluginError, "ZeroDivisionError: division by zero"):
            self.registry.load_many(["good", "bad", "missing"])

    def test_duplicates_are_a_warning_in_the_log(self):
        self.write("twice", "@on_begin\ndef a(ctx): pass\n@on_begin\ndef b(ctx): pass\n")
        with self.assertLogs("plugins", "WARNING") as log:
            self.registry.load("twice")
        self.assertEqual(log.records[0].getMessage(), "Plugin twice: on_begin has two handlers, a and b: b is used")

    def test_a_plugin_is_the_same_by_name_and_by_path(self):
        path = self.write("a", "")
        self.assertIs(self.registry.open(os.fspath(path)), self.registry.load("a"))
