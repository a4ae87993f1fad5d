import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { describe, test } from "node:test";
import {
	configure,
	findMostRecentSession,
	getRecentSessions,
	MemorySessionStorage,
	resolveResumableSession,
	SessionManager,
} from "leaflog";
import { assistant, session as sessionOf, tempDir, user, write } from "./support.mjs";

/** A session file whose last change was so many seconds after a day of 2026. */
function put(dir, name, age, entries, header) {
	const file = write(path.join(dir, name), sessionOf(entries, header));
	const at = Date.parse("2026-01-01T00:00:00.000Z") / 1000 + age;
	fs.utimesSync(file, at, at);
	return file;
}

const said = (text) => ["message", { message: user(text) }];
const answered = (text) => ["message", { message: assistant(text) }];

/** A storage of one's own over the file system: only the methods of the interface. */
class Own {
	ensureDirSync(dir) {
		fs.mkdirSync(dir, { recursive: true });
	}
	existsSync(file) {
		return fs.existsSync(file);
	}
	writeTextSync(file, content) {
		fs.writeFileSync(file, content);
	}
	statSync(file) {
		return fs.statSync(file);
	}
	listFilesSync(dir, pattern) {
		if (!fs.existsSync(dir)) return [];
		const names = fs.readdirSync(dir).filter((name) => name.endsWith(pattern.slice(1)));
		return names.map((name) => path.join(dir, name));
	}
	async exists(file) {
		return fs.existsSync(file);
	}
	async readText(file) {
		return fs.readFileSync(file, "utf8");
	}
	async readTextPrefix(file, most) {
		return fs.readFileSync(file, "utf8").slice(0, most);
	}
	async writeText(file, content) {
		fs.writeFileSync(file, content);
	}
	async rename(from, to) {
		fs.renameSync(from, to);
	}
	async unlink(file) {
		fs.unlinkSync(file);
	}
	openWriter(file, { flags }) {
		const fd = fs.openSync(file, flags);
		return {
			async writeLine(line) {
				fs.writeSync(fd, line);
			},
			async flush() {},
			async fsync() {},
			async close() {
				fs.closeSync(fd);
			},
			getError: () => undefined,
		};
	}
}

const storages = { "the file system": () => undefined, "a storage of one's own": () => new Own() };

for (const [name, make] of Object.entries(storages)) {
	describe(`finding sessions in ${name}`, () => {
		test("R40: list", async () => {
			const dir = tempDir();
			put(dir, "old.jsonl", 1, [said("first"), answered("second"), said("third")], { id: "a", title: "named" });
			put(dir, "new.jsonl", 2, [
				answered("only"),
				["compaction", { summary: "s", shortSummary: "short", firstKeptEntryId: "e1", tokensBefore: 1 }],
			]);
			put(dir, "empty.jsonl", 3, [], { id: "c", cwd: undefined, parentSession: "p" });
			fs.writeFileSync(path.join(dir, "invalid.jsonl"), "no\n");
			fs.writeFileSync(path.join(dir, "other.txt"), "no\n");
			const sessions = await SessionManager.list("/home/ada", dir, make());
			assert.equal(Array.isArray(sessions), true);
			assert.deepEqual(
				sessions.map((session) => path.basename(session.path)),
				["empty.jsonl", "new.jsonl", "old.jsonl"],
			);
			const [empty, second, first] = sessions;
			assert.deepEqual(JSON.parse(JSON.stringify(first)), {
				path: path.join(dir, "old.jsonl"),
				id: "a",
				cwd: "/home/ada",
				title: "named",
				created: "2026-02-16T10:20:00.000Z",
				modified: "2026-01-01T00:00:01.000Z",
				messageCount: 3,
				firstMessage: "first",
				allMessagesText: "first second third",
			});
			assert.equal(second.title, "short");
			assert.equal(second.firstMessage, "(no messages)");
			assert.equal(second.allMessagesText, "only");
			assert.equal(empty.cwd, "");
			assert.equal(empty.parentSessionPath, "p");
			assert.ok(first.created instanceof Date && first.modified instanceof Date);
			assert.deepEqual(await SessionManager.list("/home/ada", path.join(dir, "none"), make()), []);
		});

		test("R58: a default folder shows the project's sessions", async () => {
			const agentDir = tempDir();
			const dir = path.join(agentDir, "sessions", "--home-ada-a--");
			const project = tempDir();
			put(dir, "mine.jsonl", 1, [], { cwd: "/home/ada/a" });
			put(dir, "theirs.jsonl", 2, [], { cwd: project });
			const names = async (given) =>
				(await SessionManager.list("/home/ada/a", given, make(), { agentDir })).map((session) =>
					path.basename(session.path),
				);
			assert.deepEqual(await names(undefined), ["mine.jsonl"]);
			assert.deepEqual(await names(dir), ["mine.jsonl"]);
		});

		test("R38, R39: recents and the most recent", async () => {
			const dir = tempDir();
			put(dir, "1.jsonl", 1, [said("x".repeat(60))]);
			put(dir, "2.jsonl", 2, [], { title: "a\ntitle" });
			put(dir, "3.jsonl", 3, [], { id: "just-an-id" });
			put(dir, "4.jsonl", 4, [said("last\nline")]);
			const recent = await getRecentSessions(dir, undefined, make());
			assert.deepEqual(
				recent.map(({ path: file, name, fullName }) => [path.basename(file), name, fullName]),
				[
					["4.jsonl", "last", "last"],
					["3.jsonl", "just-an-id", "just-an-id"],
					["2.jsonl", "a", "a"],
				],
			);
			assert.equal(recent[0].mtime, Date.parse("2026-01-01T00:00:04.000Z"));
			const all = await getRecentSessions(dir, 10, make());
			assert.equal(all[3].name, `${"x".repeat(39)}…`);
			assert.equal(all[3].fullName, "x".repeat(60));
			assert.deepEqual(await getRecentSessions(dir, 0, make()), []);
			assert.equal(await findMostRecentSession(dir, make()), path.join(dir, "4.jsonl"));
			assert.equal(await findMostRecentSession(path.join(dir, "none"), make()), null);
			fs.utimesSync(path.join(dir, "1.jsonl"), new Date(), new Date(Date.now() - 3 * 3600_000 - 60_000));
			assert.equal((await getRecentSessions(dir, 1, make()))[0].timeAgo, "3h ago");
		});

		test("C: the session that is meant", async () => {
			const agentDir = tempDir();
			const local = path.join(agentDir, "sessions", "--home-ada-a--");
			put(local, "2026_ABC123.jsonl", 1, [], { id: "abc123", cwd: "/home/ada/a" });
			put(local, "2027_ABC999.jsonl", 2, [], { id: "abc999", cwd: "/home/ada/a" });
			const find = (arg, dir) => resolveResumableSession(arg, "/home/ada/a", dir, make(), { agentDir });
			assert.equal((await find("abc")).session.id, "abc999");
			assert.equal((await find("ABC1")).session.id, "abc123");
			assert.equal((await find("2026_")).session.id, "abc123");
			assert.equal((await find("abc")).scope, "local");
			assert.equal(await find("none"), undefined);
			if (make() === undefined) {
				put(path.join(agentDir, "sessions", "--home-ada-b--"), "x_fff.jsonl", 1, [], { id: "fff", cwd: "/home/ada/b" });
				assert.equal((await find("fff")).scope, "global");
			}
			assert.equal(await find("fff", local), undefined);
		});

		test("G2: a session of a project that is gone is marked, and not gone on with", async () => {
			const agentDir = tempDir();
			const dir = path.join(agentDir, "sessions", "--w-a-b--");
			const mine = put(dir, "1.jsonl", 1, [said("mine")], { cwd: "/w/a-b" });
			const theirs = put(dir, "2.jsonl", 2, [said("theirs")], { cwd: "/w/a/b" });
			const sessions = await SessionManager.list("/w/a-b", undefined, make(), { agentDir });
			assert.deepEqual(
				sessions.map((session) => [session.path, session.projectGone]),
				[
					[theirs, true],
					[mine, undefined],
				],
			);
			const options = { agentDir };
			const session = await SessionManager.continueRecent("/w/a-b", undefined, make(), options);
			assert.equal(session.getSessionFile(), mine);
			assert.equal((await resolveResumableSession("", "/w/a-b", undefined, make(), options)).session.path, mine);
		});

		test("G4: renaming and labeling are no use of a session", async () => {
			const dir = tempDir();
			const used = (second) => ({ timestamp: new Date(Date.UTC(2025, 0, 1, 0, 0, second)).toISOString() });
			const old = put(dir, "1.jsonl", 1, [["message", { message: user("old"), ...used(1) }]], used(0));
			const newest = put(dir, "2.jsonl", 2, [["message", { message: user("new"), ...used(2) }]], used(0));
			const session = await SessionManager.open(old, undefined, make());
			await session.setSessionName("named", "user");
			session.appendLabelChange(session.getEntries()[0].id, "label");
			await session.close();
			assert.ok(fs.statSync(old).mtimeMs > fs.statSync(newest).mtimeMs);
			const sessions = await SessionManager.list("/home/ada", dir, make());
			assert.deepEqual(
				sessions.map((session) => session.path),
				[newest, old],
			);
			assert.equal(await findMostRecentSession(dir, make()), newest);
			const again = await SessionManager.continueRecent("/home/ada", dir, make());
			assert.equal(again.getSessionFile(), newest);
		});

		test("C: continueRecent goes on with the newest, or begins", async () => {
			const dir = tempDir();
			put(dir, "1.jsonl", 1, [said("old")]);
			const newest = put(dir, "2.jsonl", 2, [said("new")]);
			fs.writeFileSync(path.join(dir, "3.jsonl"), "no\n");
			const session = await SessionManager.continueRecent("/home/ada", dir, make());
			assert.equal(session.getSessionFile(), newest);
			assert.equal(session.getCwd(), "/home/ada");
			assert.equal(session.getSessionDir(), dir);
			const begun = await SessionManager.continueRecent("/home/ada", tempDir(), make());
			assert.deepEqual(begun.getEntries(), []);
			assert.equal(fs.readFileSync(path.join(dir, "3.jsonl"), "utf8"), "no\n");
		});
	});
}

describe("listings", () => {
	test("R41: listAll sees all projects, and sub-agents in artifact folders", async () => {
		const agentDir = tempDir();
		const root = path.join(agentDir, "sessions");
		put(path.join(root, "--a--"), "1.jsonl", 1, []);
		put(path.join(root, "--b--"), "2.jsonl", 2, []);
		put(path.join(root, "--b--", "2"), "sub.jsonl", 3, []);
		put(path.join(root, "--b--", ".hidden"), "h.jsonl", 4, []);
		const all = await SessionManager.listAll(undefined, { agentDir });
		assert.deepEqual(
			all.map((session) => path.basename(session.path)),
			["sub.jsonl", "2.jsonl", "1.jsonl"],
		);
	});

	test("C: a memory storage", async () => {
		const storage = new MemorySessionStorage();
		const session = SessionManager.create("/home/ada", "/s", storage);
		session.appendMessage(user("hello"));
		session.appendMessage(assistant("hi"));
		const [info] = await SessionManager.list("/home/ada", "/s", storage);
		assert.equal(info.path, session.getSessionFile());
		assert.equal(info.allMessagesText, "hello hi");
		const again = await SessionManager.continueRecent("/home/ada", "/s", storage);
		assert.equal(again.getSessionId(), session.getSessionId());
		assert.equal((await getRecentSessions("/s", 3, storage))[0].name, "hello");
		assert.equal(
			(await resolveResumableSession(session.getSessionId().slice(0, 6), "/home/ada", "/s", storage)).scope,
			"local",
		);
	});

	test("C: progress is told, an abort stops, what the callback throws reaches the caller", async () => {
		const dir = tempDir();
		for (let at = 0; at < 300; at++) put(dir, `${at}.jsonl`, at, [said("x")]);
		const told = [];
		const sessions = await SessionManager.list("/home/ada", dir, undefined, {
			onProgress: (done, total) => told.push([done, total]),
		});
		assert.equal(sessions.length, 300);
		assert.deepEqual(told.at(-1), [300, 300]);
		const aborted = AbortSignal.abort(new Error("enough"));
		await assert.rejects(SessionManager.list("/home/ada", dir, undefined, { signal: aborted }), { message: "enough" });
		const controller = new AbortController();
		const listing = SessionManager.list("/home/ada", dir, undefined, { signal: controller.signal });
		controller.abort(new Error("changed my mind"));
		await assert.rejects(listing, { message: "changed my mind" });
		const thrown = new Error("from the callback");
		const onProgress = () => {
			throw thrown;
		};
		await assert.rejects(SessionManager.list("/home/ada", dir, undefined, { onProgress }), (error) => error === thrown);
	});

	test("R1, R57: the default folder", () => {
		const agentDir = tempDir();
		const dir = SessionManager.getDefaultSessionDir("/some/where", agentDir);
		assert.equal(dir, path.join(agentDir, "sessions", "--some-where--"));
		assert.ok(fs.statSync(dir).isDirectory());
		const home = tempDir();
		const saved = process.env.HOME;
		try {
			process.env.HOME = home;
			configure({ dirNaming: "home-relative" });
			fs.mkdirSync(path.join(home, "p"));
			assert.equal(path.basename(SessionManager.getDefaultSessionDir(path.join(home, "p"), agentDir)), "-p");
		} finally {
			configure({ dirNaming: undefined });
			process.env.HOME = saved;
		}
	});
});
