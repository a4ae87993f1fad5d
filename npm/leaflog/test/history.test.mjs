import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { afterEach, describe, test } from "node:test";
import { HistoryStorage } from "leaflog";
import { tempDir } from "./support.mjs";

describe("HistoryStorage", () => {
	afterEach(() => HistoryStorage.resetInstance());

	const prompts = (rows) => rows.map((row) => row.prompt);

	test("C: one a process, until it is reset; by default the agent's", async () => {
		const history = HistoryStorage.open();
		assert.equal(HistoryStorage.open("/elsewhere.db"), history);
		await history.add("x");
		assert.ok(fs.existsSync(path.join(process.env.PI_CODING_AGENT_DIR, "history.db")));
		HistoryStorage.resetInstance();
		assert.notEqual(HistoryStorage.open(path.join(tempDir(), "h.db")), history);
	});

	test("R43: prompts are stored trimmed; empty ones and repeats are not", async () => {
		const history = HistoryStorage.open(path.join(tempDir(), "h.db"));
		await Promise.all([
			history.add("  first  ", "/home/ada"),
			history.add("first"),
			history.add("   "),
			history.add("second"),
			history.add("first"),
			history.add("half \ud83d é"),
		]);
		const rows = history.getRecent(10);
		assert.deepEqual(prompts(rows), ["half \ufffd é", "first", "second", "first"]);
		assert.equal(rows[3].cwd, "/home/ada");
		assert.equal("cwd" in rows[0], false);
		assert.deepEqual(Object.keys(rows[3]), ["id", "prompt", "created_at", "cwd"]);
		assert.ok(Math.abs(rows[0].created_at - Date.now() / 1000) < 60);
	});

	test("C: limits", async () => {
		const history = HistoryStorage.open(path.join(tempDir(), "h.db"));
		await Promise.all(["a", "b", "c"].map((prompt) => history.add(prompt)));
		assert.deepEqual(prompts(history.getRecent(2.9)), ["c", "b"]);
		for (const limit of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) assert.deepEqual(history.getRecent(limit), []);
		assert.equal(history.getRecent(1e9).length, 3);
	});

	test("C: every word is the beginning of one, and nothing in a query is an operator", async () => {
		const history = HistoryStorage.open(path.join(tempDir(), "h.db"));
		for (const prompt of ["mend the tide gauge", "tide tables", 'say "tide" OR gauge']) await history.add(prompt);
		assert.deepEqual(prompts(history.search("gau tid", 10)), ['say "tide" OR gauge', "mend the tide gauge"]);
		assert.deepEqual(prompts(history.search("tables", 10)), ["tide tables"]);
		assert.deepEqual(history.search("tide NOT tables", 10), []);
		assert.deepEqual(history.search('"*-()', 10), []);
		assert.deepEqual(history.search("", 10), []);
	});

	test("what was added is stored when the process ends", () => {
		const file = path.join(tempDir(), "h.db");
		const code = `
			const { HistoryStorage } = require("leaflog");
			HistoryStorage.open(process.argv.at(-1)).add("last words");
			process.exit(0);
		`;
		execFileSync(process.execPath, ["-e", code, file], { cwd: path.dirname(import.meta.dirname ?? ".") });
		assert.deepEqual(prompts(HistoryStorage.open(file).getRecent(1)), ["last words"]);
	});

	test("a failure reaches who waits, and nobody else", async () => {
		assert.throws(() => HistoryStorage.open(tempDir()), { name: "LeaflogError", code: "IS_A_DIRECTORY" });
		const history = HistoryStorage.open(path.join(tempDir(), "h.db"));
		history.close();
		history.close();
		await assert.rejects(history.add("x"), { code: "CLOSED" });
		history.add("nobody waits for this");
		await new Promise((resolve) => setImmediate(resolve));
	});
});
