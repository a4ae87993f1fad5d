// What a caller is told who gave something else than a function takes.
import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { describe, test } from "node:test";
import {
	BlobStore,
	FileSessionStorage,
	getRecentSessions,
	LeaflogError,
	resolveResumableSession,
	SessionManager,
} from "leaflog";
import { tempDir } from "./support.mjs";

const told = (message) => (error) => {
	assert.ok(error instanceof LeaflogError, String(error));
	assert.deepEqual([error.code, error.message], ["INVALID_ARGUMENT", message]);
	return true;
};

describe("an argument of another type", () => {
	const session = SessionManager.inMemory("/x");

	test("is named in words of JavaScript", async () => {
		assert.throws(() => SessionManager.create(), told("a string is expected, not undefined"));
		assert.throws(() => SessionManager.create(1), told("a string is expected, not number"));
		assert.throws(() => SessionManager.create("/x", 5), told("sessionDir: a string is expected, not number"));
		assert.throws(() => session.branch(), told("a string is expected, not undefined"));
		await assert.rejects(new BlobStore("/x").put("text"), told("a Uint8Array is expected"));
	});

	test("is an error of this package where a promise is given too", async () => {
		await assert.rejects(SessionManager.open(), told("a string is expected, not undefined"));
		await assert.rejects(SessionManager.open(5), told("a string is expected, not number"));
		await assert.rejects(resolveResumableSession(), told("a string is expected, not undefined"));
		await assert.rejects(getRecentSessions(null), told("a string is expected, not null"));
	});

	test("of a message is refused, and nothing changes", () => {
		const before = session.getEntries().length;
		assert.throws(() => session.appendMessage(undefined), told("undefined cannot be written as JSON"));
		assert.throws(() => session.appendMessage(() => {}), told("a function cannot be written as JSON"));
		for (const message of [null, "text", []]) {
			assert.throws(() => session.appendMessage(message), told("the text is not a JSON object"));
		}
		assert.equal(session.getEntries().length, before);
	});

	test("of a state is refused, and the session goes on", () => {
		const session = SessionManager.inMemory("/x");
		const id = session.appendMessage({ role: "user", content: "hello" });
		assert.throws(() => session.restoreState({}), told("restoreState takes what captureState gave"));
		assert.equal(session.getEntry(id).message.content, "hello");
		assert.equal(session.getEntries().length, 1);
	});

	test("a session is not made with new", () => {
		assert.throws(
			() => new SessionManager("/x"),
			told("SessionManager.create, open, continueRecent and inMemory make a session"),
		);
	});
});

// Bun gives every error the line of the program.
test("line is that of the file, or is not there", async () => {
	const dir = tempDir();
	const session = SessionManager.inMemory("/x");
	assert.throws(
		() => session.branch("none"),
		(error) => error.line === undefined && !("line" in error) && error.path === undefined,
	);
	const file = path.join(dir, "s.jsonl");
	fs.writeFileSync(file, "hello\n");
	await assert.rejects(SessionManager.forkFrom(file, "/x", dir), { code: "NOT_A_SESSION", path: file, line: 1 });
});

describe("u21: the message", () => {
	test("says where, as in Rust, and once", async () => {
		const dir = tempDir();
		const file = path.join(dir, "s.jsonl");
		fs.writeFileSync(file, "hello\n");
		await assert.rejects(SessionManager.forkFrom(file, "/x", dir), (error) => {
			assert.ok(error.message.startsWith(`${file}:1: `), error.message);
			return true;
		});
		await assert.rejects(SessionManager.open(dir), (error) => {
			assert.equal(error.message.split(dir).length, 2, error.message);
			return true;
		});
		const gone = path.join(dir, "gone.jsonl");
		await assert.rejects(new FileSessionStorage().readText(gone), (error) => {
			assert.equal(error.code, "ENOENT");
			assert.equal(error.message.split(gone).length, 2, error.message);
			return true;
		});
	});

	test("of what JSON cannot say is an error of this package, and nothing changes", () => {
		const session = SessionManager.inMemory("/x");
		assert.throws(
			() => session.appendMessage({ role: "user", content: 1n }),
			(error) => {
				assert.ok(error instanceof LeaflogError);
				assert.equal(error.code, "INVALID_ARGUMENT");
				assert.match(error.message, /^the value cannot be written as JSON: .*BigInt/);
				assert.ok(error.cause instanceof TypeError);
				return true;
			},
		);
		const cycle = { role: "user" };
		cycle.content = cycle;
		assert.throws(
			() => session.appendMessage(cycle),
			(error) => {
				assert.ok(error instanceof LeaflogError);
				assert.equal(error.code, "INVALID_ARGUMENT");
				assert.match(error.message, /^the value cannot be written as JSON: .*c(ircular|yclic)/);
				assert.ok(error.cause instanceof TypeError);
				return true;
			},
		);
		assert.throws(() => session.appendCustomEntry("x", 1n), LeaflogError);
		assert.throws(() => session.appendCustomEntry("x", Object.create(null, { toJSON: { value: () => 1n } })), {
			code: "INVALID_ARGUMENT",
		});
		assert.throws(
			() =>
				session.appendCustomEntry("x", {
					toJSON: () => {
						throw { not: "an error" };
					},
				}),
			told("the value cannot be written as JSON: [object Object]"),
		);
		assert.deepEqual(session.getEntries(), []);
	});
});
