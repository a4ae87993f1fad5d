// A session that is only looked at.
import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { describe, test } from "node:test";
import { LeaflogError, MemorySessionStorage, SessionManager, SessionView } from "leaflog";
import { assistant, lines, session as sessionOf, started, tempDir, user, write } from "./support.mjs";

const HEADER = { type: "session", id: "1f9d2a6b9c0d1234", timestamp: "2026-02-16T10:20:00.000Z", cwd: "/home/ada" };
const VERSION_1 = [
	HEADER,
	{ type: "message", timestamp: "2026-02-16T10:20:01.000Z", message: user("1") },
	{ type: "message", timestamp: "2026-02-16T10:20:02.000Z", message: assistant("2") },
];

describe("u13: a view", () => {
	test("has what a manager has of the same file", async () => {
		const session = started();
		session.appendLabelChange(session.getLeafId(), "here");
		session.branch(session.getEntries()[0].id);
		session.appendMessage(user("3"));
		await session.setSessionName("name", "user");
		const view = await SessionView.open(session.getSessionFile());
		for (const read of [
			(from) => from.getHeader(),
			(from) => from.getEntries(),
			(from) => from.getLeafId(),
			(from) => from.getLeafEntry(),
			(from) => from.getBranch(),
			(from) => from.getChildren(session.getEntries()[0].id),
			(from) => from.getTree(),
			(from) => from.getLabel(session.getEntries()[1].id),
			(from) => from.getEntry(session.getLeafId()),
			(from) => from.getSessionName(),
			(from) => from.titleSource,
			(from) => from.getSessionId(),
			(from) => from.getSessionFile(),
			(from) => from.getCwd(),
			(from) => from.buildSessionContext(),
			(from) => from.getUsageStatistics(),
			(from) => from.getInjectedTtsrRules(),
		]) {
			assert.deepEqual(read(view), read(session), String(read));
		}
		assert.equal(view.getEntries()[3], view.getLeafEntry());
		assert.equal(view.getLeafEntry().message, view.buildSessionContext().messages.at(-1));
		assert.equal(view.getUsageStatistics(), view.getUsageStatistics());
		assert.deepEqual(view.getLoadReport().skippedLines, []);
		view.close();
		assert.equal(view.getEntries()[0].message.content, "1");
		view.close();
	});

	test("leaves a file of an older version, and everything beside it, as it was", async () => {
		const dir = tempDir();
		const file = write(path.join(dir, "s.jsonl"), VERSION_1);
		const before = [fs.readFileSync(file, "utf8"), fs.statSync(file).mtimeMs];
		const view = await SessionView.open(file);
		assert.equal(view.getHeader().version, undefined);
		assert.equal(view.getEntries()[1].parentId, view.getEntries()[0].id);
		assert.equal(view.buildSessionContext().messages.length, 2);
		assert.deepEqual([fs.readFileSync(file, "utf8"), fs.statSync(file).mtimeMs], before);
		assert.deepEqual(fs.readdirSync(dir), ["s.jsonl"]);
		view.close();
	});

	test("makes nothing of what is not there, or is not a session", async () => {
		const dir = tempDir();
		const gone = path.join(dir, "gone", "s.jsonl");
		await assert.rejects(SessionView.open(gone), (error) => {
			assert.ok(error instanceof LeaflogError);
			assert.deepEqual([error.code, error.path], ["NOT_FOUND", gone]);
			return true;
		});
		const notes = path.join(dir, "notes.txt");
		fs.writeFileSync(notes, "notes\n");
		await assert.rejects(SessionView.open(notes), { code: "NOT_A_SESSION", path: notes });
		assert.deepEqual(fs.readdirSync(dir), ["notes.txt"]);
		assert.equal(fs.readFileSync(notes, "utf8"), "notes\n");
		await assert.rejects(SessionView.open(), { code: "INVALID_ARGUMENT" });
		assert.throws(() => new SessionView(), { code: "INVALID_ARGUMENT" });
	});

	test("of a session in another storage", async () => {
		const storage = new MemorySessionStorage();
		const session = SessionManager.create("/x", "/sessions", storage);
		session.appendMessage(assistant("1"));
		await session.flush();
		const own = {
			exists: (at) => storage.exists(at),
			readText: (at) => storage.readText(at),
		};
		for (const where of [storage, own]) {
			const view = await SessionView.open(session.getSessionFile(), where);
			assert.deepEqual(view.getEntries(), session.getEntries());
			await assert.rejects(SessionView.open("/sessions/none.jsonl", where), { code: "NOT_FOUND" });
		}
	});
});

test("u07: what another program shifted in place is an error of this package, not of the engine's parser", async () => {
	const values = sessionOf([
		["message", { message: user("1") }],
		["message", { message: assistant("2") }],
		["custom", { customType: "x", data: 3 }],
	]);
	for (const read of [
		(view) => view.getEntry("e2").message,
		(view) => view.getEntry("e3"),
		(view) => view.getEntries().map((entry) => entry.message),
		(view) => view.buildSessionContext(),
		(view) => view.getTree(),
	]) {
		const file = write(path.join(tempDir(), "s.jsonl"), values);
		const view = await SessionView.open(file);
		fs.writeFileSync(file, fs.readFileSync(file, "utf8").replace('"1"', '"1 and more"'));
		assert.throws(
			() => read(view),
			(error) => {
				assert.ok(error instanceof LeaflogError, String(error?.stack));
				assert.equal(error.code, "FILE_CHANGED");
				return true;
			},
		);
	}
});

test("u13: a listing tells of what it could not read", async () => {
	const dir = tempDir();
	write(path.join(dir, "a.jsonl"), sessionOf([["message", { message: user("1") }]]));
	write(path.join(dir, "b.jsonl"), ["not a session"]);
	fs.symlinkSync(path.join(dir, "a.jsonl"), path.join(dir, "link.jsonl"));
	const problems = [];
	const sessions = await SessionManager.list("/home/ada", dir, undefined, {
		onProblem: (problem) => problems.push(problem),
	});
	assert.deepEqual(
		sessions.map((session) => path.basename(session.path)),
		["a.jsonl"],
	);
	assert.deepEqual(
		problems.map((problem) => [problem instanceof LeaflogError, problem.code, path.basename(problem.path)]),
		[
			[true, "NOT_A_SESSION", "b.jsonl"],
			[true, "INVALID_ARGUMENT", "link.jsonl"],
		],
	);
	assert.equal(lines(path.join(dir, "a.jsonl")).length, 2);
});
