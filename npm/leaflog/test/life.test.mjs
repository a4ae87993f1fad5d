import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import * as path from "node:path";
import { describe, test } from "node:test";
import { BlobStore, configure, LeaflogError, SequenceGenerator, SessionManager } from "leaflog";
import {
	assistant,
	holdLock,
	lines,
	SESSION_ID,
	session as sessionOf,
	started,
	TIME,
	tempDir,
	user,
	write,
} from "./support.mjs";

describe("the life of a session", () => {
	test("statics are called without a receiver", async () => {
		const { create, open, inMemory, forkFrom } = SessionManager;
		const dir = tempDir();
		const session = create(dir, dir);
		session.appendMessage(assistant("1"));
		assert.equal((await open(session.getSessionFile())).getEntries().length, 1);
		assert.equal(inMemory().isPersisted(), false);
		assert.equal((await forkFrom(session.getSessionFile(), dir, dir)).getEntries().length, 1);
	});

	test("R16: a missing file becomes a session at once; bytes without a header are set aside", async () => {
		const dir = tempDir();
		const missing = path.join(dir, "deep", "new.jsonl");
		const session = await SessionManager.open(missing);
		assert.deepEqual(lines(missing), [session.getHeader()]);
		const invalid = path.join(dir, "invalid.jsonl");
		fs.writeFileSync(invalid, "my notes\n");
		const other = await SessionManager.open(invalid);
		assert.deepEqual(lines(invalid), [other.getHeader()]);
		const aside = other.getLoadReport().setAsideFile;
		assert.ok(aside.startsWith(`${invalid}.invalid-`));
		assert.equal(fs.readFileSync(aside, "utf8"), "my notes\n");
		await assert.rejects(SessionManager.open(dir), (error) => {
			assert.ok(error instanceof LeaflogError);
			assert.equal(error.code, "IS_A_DIRECTORY");
			assert.equal(error.path, dir);
			return true;
		});
	});

	test("R12: an older file is written anew when it is opened, or with the next change", async () => {
		const old = [
			{ type: "session", id: "s", timestamp: "2026-02-16T10:20:30.000Z", cwd: "/p" },
			{ type: "message", timestamp: "2026-02-16T10:20:31.000Z", message: { role: "hookMessage", content: "h" } },
			{
				type: "compaction",
				timestamp: "2026-02-16T10:20:32.000Z",
				summary: "s",
				firstKeptEntryIndex: 1,
				tokensBefore: 1,
			},
		];
		const file = write(path.join(tempDir(), "s.jsonl"), old);
		const bytes = fs.readFileSync(file);
		const deferred = await SessionManager.open(file, undefined, undefined, { migrationRewrite: "deferred" });
		const [message, compaction] = deferred.getEntries();
		assert.equal(message.message.role, "custom");
		assert.equal(compaction.parentId, message.id);
		assert.equal(compaction.firstKeptEntryId, message.id);
		assert.equal("firstKeptEntryIndex" in compaction, false);
		assert.equal(deferred.getHeader().version, 3);
		assert.deepEqual(fs.readFileSync(file), bytes);
		deferred.appendMessage(user("x"));
		assert.equal(lines(file)[0].version, 3);
		const immediate = await SessionManager.open(write(path.join(tempDir(), "s.jsonl"), old));
		assert.equal(lines(immediate.getSessionFile())[0].version, 3);
		assert.deepEqual(lines(immediate.getSessionFile()).slice(1), immediate.getEntries());
	});

	test("R16: opening and closing a valid file touches neither bytes nor time", async () => {
		const file = write(path.join(tempDir(), "s.jsonl"), sessionOf([["message", { message: user("1") }]]));
		fs.utimesSync(file, 1_000_000, 1_000_000);
		const bytes = fs.readFileSync(file);
		const session = await SessionManager.open(file);
		session.getEntries()[0].message;
		await session.flush();
		await session.close();
		// Open it is until it is disposed of: a file beside it tells other processes.
		await session[Symbol.asyncDispose]();
		assert.deepEqual(fs.readFileSync(file), bytes);
		assert.equal(fs.statSync(file).mtimeMs, 1_000_000_000);
		assert.deepEqual(fs.readdirSync(path.dirname(file)).sort(), ["s.jsonl"]);
	});

	test("R30: close is not final and can be called again", async () => {
		const session = started();
		await session.close();
		await session.close();
		session.closeSync();
		const id = session.appendMessage(user("3"));
		assert.equal(lines(session.getSessionFile()).at(-1).id, id);
		session.flushSync();
		await session.flush();
		session[Symbol.dispose]();
		await session[Symbol.asyncDispose]();
		assert.equal(session.getEntries()[2].message.content, "3");
	});

	test("C: entries can be read after close, whatever became of the file; and written again", async () => {
		const values = sessionOf([
			["message", { message: user("1") }],
			["message", { message: assistant("2") }],
		]);
		const file = write(path.join(tempDir(), "s.jsonl"), values);
		const session = await SessionManager.open(file);
		await session.close();
		fs.rmSync(file);
		assert.equal(session.getEntry("e1").message.content, "1");
		await session.moveTo(tempDir());
		assert.deepEqual(lines(session.getSessionFile()).slice(1), values.slice(1));
	});

	test("C: a session that was disposed of holds no file; that its file was replaced is said", async () => {
		const file = write(path.join(tempDir(), "s.jsonl"), sessionOf([["message", { message: user("1") }]]));
		const isOpen = () =>
			fs.existsSync("/proc/self/fd") &&
			fs.readdirSync("/proc/self/fd").some((fd) => {
				try {
					return fs.readlinkSync(`/proc/self/fd/${fd}`) === file;
				} catch {
					return false;
				}
			});
		const session = await SessionManager.open(file);
		await session[Symbol.asyncDispose]();
		assert.equal(isOpen(), false);
		assert.equal(session.getEntry("e1").message.content, "1");
		const again = await SessionManager.open(file);
		again[Symbol.dispose]();
		write(`${file}.new`, sessionOf([]));
		fs.renameSync(`${file}.new`, file);
		assert.throws(() => again.getEntry("e1").message, { code: "FILE_CHANGED", path: file });
	});

	test("C: newSession", async () => {
		const session = started();
		const old = session.getSessionFile();
		await session.setSessionName("name", "user");
		const file = await session.newSession({ parentSession: "parent" });
		assert.equal(session.getSessionFile(), file);
		assert.notEqual(file, old);
		assert.equal(session.getSessionName(), undefined);
		assert.deepEqual(session.getEntries(), []);
		assert.equal(session.getLeafId(), null);
		assert.equal(fs.existsSync(file), false);
		session.appendMessage(assistant("1"));
		assert.deepEqual(Object.keys(lines(file)[0]), ["type", "version", "id", "timestamp", "cwd", "parentSession"]);
		assert.equal(lines(file)[0].parentSession, "parent");
		assert.equal(lines(old).length, 3);
	});

	test("C: setSessionFile keeps project and folder", async () => {
		const session = started();
		const [cwd, dir] = [session.getCwd(), session.getSessionDir()];
		const file = write(
			path.join(tempDir(), "o.jsonl"),
			sessionOf([["message", { message: user("o") }]], { cwd: "/q" }),
		);
		await session.setSessionFile(file);
		assert.equal(session.getSessionFile(), file);
		assert.equal(session.getCwd(), cwd);
		assert.equal(session.getSessionDir(), dir);
		assert.equal(session.getEntries()[0].message.content, "o");
	});

	test("C: fork", async () => {
		const session = started();
		await session.setSessionName("name", "user");
		session.branch(session.getEntries()[0].id);
		const [oldId, leaf] = [session.getSessionId(), session.getLeafId()];
		const { oldSessionFile, newSessionFile } = await session.fork();
		assert.equal(session.getSessionFile(), newSessionFile);
		const [header, ...entries] = lines(newSessionFile);
		assert.deepEqual(Object.keys(header), [
			"type",
			"version",
			"id",
			"title",
			"titleSource",
			"timestamp",
			"cwd",
			"parentSession",
		]);
		assert.match(header.id, SESSION_ID);
		assert.notEqual(header.id, oldId);
		assert.equal(header.parentSession, oldId);
		assert.equal(header.title, "name");
		assert.deepEqual(entries, lines(oldSessionFile).slice(1));
		assert.equal(session.getLeafId(), leaf);
		assert.equal(session.titleSource, "user");
	});

	test("C: forkFrom copies the history of another session", async () => {
		const source = started();
		await source.setSessionName("name");
		const dir = tempDir();
		const fork = await SessionManager.forkFrom(source.getSessionFile(), "/other", dir);
		const [header, ...entries] = lines(fork.getSessionFile());
		assert.deepEqual(Object.keys(header), [
			"type",
			"version",
			"id",
			"timestamp",
			"cwd",
			"parentSession",
			"title",
			"titleSource",
		]);
		assert.equal(header.parentSession, source.getSessionId());
		assert.equal(header.cwd, "/other");
		assert.equal(header.title, "name");
		assert.deepEqual(entries, lines(source.getSessionFile()).slice(1));
		assert.equal(fork.getLeafId(), source.getLeafId());
		await assert.rejects(SessionManager.forkFrom(path.join(dir, "none.jsonl"), "/x", dir), { code: "NOT_FOUND" });
		const invalid = path.join(dir, "invalid.txt");
		fs.writeFileSync(invalid, "x\n");
		await assert.rejects(SessionManager.forkFrom(invalid, "/x", dir), { code: "NOT_A_SESSION" });
	});

	test("C: createBranchedSession: a compaction that kept from a label keeps from the next entry (G5)", async () => {
		const session = started();
		const first = session.appendMessage({ role: "user", content: "1", timestamp: 1 });
		const label = session.appendLabelChange(first, "here");
		const second = session.appendMessage({ role: "user", content: "2", timestamp: 2 });
		const compaction = session.appendCompaction("so far", undefined, label, 100);
		const before = session.getEntry(compaction);
		const leaf = session.appendMessage({ role: "user", content: "3", timestamp: 3 });
		const old = session.getSessionFile();
		const file = session.createBranchedSession(leaf);
		assert.equal(session.getEntry(compaction).firstKeptEntryId, second);
		session.getEntry(leaf).message.content = "changed";
		await session.rewriteEntries();
		const kept = (file) => lines(file).find((line) => line.id === compaction).firstKeptEntryId;
		assert.deepEqual([kept(old), kept(file)], [label, second]);
		// Where it was it stays what it was.
		assert.equal(before.firstKeptEntryId, label);
	});

	test("C: createBranchedSession", async () => {
		const session = started();
		const [first, second] = session.getEntries();
		session.appendLabelChange(first.id, "mark");
		session.appendMessage(user("3"));
		const old = session.getSessionFile();
		const file = session.createBranchedSession(second.id);
		assert.equal(session.getSessionFile(), file);
		const [header, ...entries] = lines(file);
		assert.equal(header.parentSession, old);
		assert.deepEqual(
			entries.map((entry) => entry.type),
			["message", "message", "label"],
		);
		assert.equal(entries[2].parentId, second.id);
		assert.equal(session.getLeafId(), entries[2].id);
		assert.throws(() => session.createBranchedSession("none"), { code: "ENTRY_NOT_FOUND" });
		const memory = SessionManager.inMemory("/x");
		const id = memory.appendMessage(user("1"));
		memory.appendMessage(user("2"));
		assert.equal(memory.createBranchedSession(id), undefined);
		assert.equal(memory.getEntries().length, 1);
	});

	test("C: moveTo takes file and artifacts along", async () => {
		const session = started();
		const id = await session.saveArtifact("out", "bash");
		const old = session.getSessionFile();
		const root = path.join(process.env.PI_CODING_AGENT_DIR, "sessions");
		const project = path.join(tempDir(), "project");
		fs.mkdirSync(project);
		await session.moveTo(project);
		const file = session.getSessionFile();
		assert.equal(session.getCwd(), project);
		assert.equal(lines(file)[0].cwd, project);
		assert.equal(file, path.join(root, `-${project.replaceAll("/", "-")}--`, path.basename(old)));
		assert.equal(fs.existsSync(old), false);
		assert.equal(fs.readFileSync(await session.getArtifactPath(id), "utf8"), "out");
	});

	test("C: names", async () => {
		const session = started();
		assert.equal(await session.setSessionName("  a\u0000b\n c\u0085 "), true);
		assert.equal(session.getSessionName(), "a b c");
		assert.equal(session.titleSource, "auto");
		assert.equal(lines(session.getSessionFile())[0].title, "a b c");
		assert.equal(await session.setSessionName("\t\n"), false);
		assert.equal(await session.setSessionName("mine", "user"), true);
		assert.equal(await session.setSessionName("auto", "auto"), false);
		assert.equal(session.getSessionName(), "mine");
		const early = SessionManager.create("/x", tempDir());
		const naming = early.setSessionName("now");
		assert.equal(early.getSessionName(), "now");
		assert.equal(await naming, true);
		assert.equal(fs.existsSync(early.getSessionFile()), false);
	});

	test("R29: ensureOnDisk writes a session that has not started", async () => {
		const session = SessionManager.create("/x", tempDir());
		session.appendMessage(user("1"));
		await session.ensureOnDisk();
		assert.equal(lines(session.getSessionFile()).length, 2);
	});

	test("C: artifacts", async () => {
		const session = started();
		const dir = session.getSessionFile().slice(0, -".jsonl".length);
		assert.equal(session.getArtifactsDir(), dir);
		const { id, path: file } = await session.allocateArtifactPath("bash");
		assert.equal(id, "0");
		assert.equal(file, path.join(dir, "0.bash.log"));
		fs.writeFileSync(path.join(dir, "7.read.log"), "");
		assert.equal(await session.saveArtifact("text é", "read"), "8");
		assert.equal(fs.readFileSync(await session.getArtifactPath("8"), "utf8"), "text é");
		assert.equal(await session.getArtifactPath("9"), null);
		assert.equal(await session.getArtifactPath("../8"), null);
		await assert.rejects(session.allocateArtifactPath("../x"), { code: "INVALID_ARGUMENT" });
		// A file of another name has no directory of artifacts: they are kept in memory.
		await session.setSessionFile(path.join(path.dirname(dir), "session.txt"));
		assert.equal(session.getArtifactsDir(), null);
		assert.deepEqual(await session.allocateArtifactPath("bash"), {});
		assert.equal(await session.saveArtifact("x", "bash"), "0");
		assert.equal(await session.getArtifactPath("0"), null);
		const memory = SessionManager.inMemory("/x");
		assert.equal(memory.getArtifactsDir(), null);
		assert.deepEqual(await memory.allocateArtifactPath("bash"), {});
		assert.equal(await memory.saveArtifact("x", "bash"), "0");
		assert.equal(await memory.saveArtifact("x", "bash"), "1");
		assert.equal(await memory.getArtifactPath("0"), null);
		await memory.newSession();
		assert.equal(await memory.saveArtifact("x", "bash"), "0");
	});

	test("R36, R51: images are kept as blobs and come back", async () => {
		const agentDir = tempDir();
		const bytes = Buffer.alloc(3000, "image");
		const message = {
			...user(""),
			content: [{ type: "image", data: bytes.toString("base64"), mimeType: "image/png" }],
		};
		const hash = createHash("sha256").update(bytes).digest("hex");
		const dir = tempDir();
		const session = SessionManager.create(dir, dir, undefined, { agentDir });
		session.appendMessage(message);
		session.appendMessage(assistant("2"));
		const file = session.getSessionFile();
		assert.equal(lines(file)[1].message.content[0].data, `blob:sha256:${hash}`);
		assert.equal(session.getEntries()[0].message, message);
		assert.deepEqual(fs.readFileSync(path.join(agentDir, "blobs", hash)), bytes);
		const again = await SessionManager.open(file, undefined, undefined, { agentDir });
		assert.deepEqual(again.getEntries()[0].message, message);
		assert.deepEqual(again.buildSessionContext().messages[0], message);
		// Nothing changed in place: the reference stays.
		await again.rewriteEntries();
		assert.equal(lines(file)[1].message.content[0].data, `blob:sha256:${hash}`);
		const { hash: put, ref, path: where } = await again.putBlob(Buffer.from("other"));
		assert.equal(where, path.join(agentDir, "blobs", put));
		assert.equal(ref, `blob:sha256:${put}`);
		fs.rmSync(path.join(agentDir, "blobs", hash));
		const without = await SessionManager.open(file, undefined, undefined, { agentDir });
		assert.equal(without.getEntries()[0].message.content[0].data, `blob:sha256:${hash}`);
		assert.deepEqual(without.getLoadReport().missingBlobs, [{ hash, line: 2 }]);
		assert.equal(await new BlobStore(path.join(agentDir, "blobs")).has(put), true);
	});

	test("C: configure sets defaults, and the environment is read when it is used", async () => {
		const [configured, environment] = [tempDir(), tempDir()];
		const saved = process.env.PI_CODING_AGENT_DIR;
		try {
			process.env.PI_CODING_AGENT_DIR = environment;
			assert.ok(SessionManager.create("/some/project").getSessionFile().startsWith(`${environment}/sessions/`));
			configure({ agentDir: configured });
			const session = SessionManager.create("/some/project");
			assert.equal(session.getSessionDir(), path.join(configured, "sessions", "--some-project--"));
			const given = SessionManager.create("/some/project", undefined, undefined, { agentDir: environment });
			assert.ok(given.getSessionDir().startsWith(environment));
		} finally {
			configure({ agentDir: undefined });
			if (saved === undefined) delete process.env.PI_CODING_AGENT_DIR;
			else process.env.PI_CODING_AGENT_DIR = saved;
		}
		assert.throws(() => configure({ durability: "never" }), { code: "INVALID_ARGUMENT" });
		assert.throws(() => configure({ lockTimeoutMs: -1 }), { code: "INVALID_ARGUMENT" });
	});

	test("R4: ids and times can be known beforehand, on this thread and on the engine's pool", async () => {
		// An id of an entry is the lowest 32 bits of the milliseconds: printf %x 1771236001000 is 19c65e484e8.
		const generator = new SequenceGenerator(new Date("2026-02-16T10:00:00.000Z"), 1000);
		const options = { agentDir: tempDir(), generator };
		const session = SessionManager.create("/some/project", undefined, undefined, options);
		const file = session.getSessionFile();
		assert.equal(path.basename(file), "2026-02-16T10-00-00-000Z_1470c67440248100.jsonl");
		assert.equal(session.appendMessage(assistant("Hi")), "65e484e8");
		assert.equal(session.getEntry("65e484e8").timestamp, "2026-02-16T10:00:01.000Z");
		const copy = await SessionManager.forkFrom(file, "/other", undefined, undefined, options);
		assert.equal(copy.getSessionId(), "1470c676342488d0");
		try {
			configure({ generator });
			const other = SessionManager.inMemory("/some/project");
			assert.equal(other.getHeader().timestamp, "2026-02-16T10:00:03.000Z");
		} finally {
			configure({ generator: undefined });
		}
		assert.match(SessionManager.inMemory("/some/project").getHeader().timestamp, TIME);
		for (const start of [1.5, NaN, new Date(NaN), "now", undefined]) {
			assert.throws(() => new SequenceGenerator(start), { code: "INVALID_ARGUMENT" });
		}
		for (const step of [0, -1, 0.5, 2 ** 32, "1"]) {
			assert.throws(() => new SequenceGenerator(0, step), { code: "INVALID_ARGUMENT" });
		}
		assert.throws(() => configure({ generator: {} }), { code: "INVALID_ARGUMENT" });
	});
});

describe("failures", () => {
	test("R32: a failed write stays in force, is logged once, and ensureOnDisk tries again", async () => {
		const logged = [];
		const logger = { error: (message, details) => logged.push([message, details]) };
		const session = started({ logger });
		const file = session.getSessionFile();
		await session.close();
		fs.renameSync(file, `${file}.saved`);
		fs.mkdirSync(file);
		const lost = user("3");
		assert.throws(
			() => session.appendMessage(lost),
			(error) => error instanceof LeaflogError,
		);
		assert.throws(() => session.appendMessage(user("4")), LeaflogError);
		await assert.rejects(session.flush(), LeaflogError);
		await assert.rejects(session.rewriteEntries(), LeaflogError);
		await assert.rejects(session.setSessionName("x", "user"), LeaflogError);
		await assert.rejects(session.close(), LeaflogError);
		assert.equal(logged.length, 1);
		assert.ok(logged[0][0].includes(file));
		assert.deepEqual(logged[0][1], { sessionFile: file });
		const status = session.persistStatus();
		assert.ok(status.error instanceof LeaflogError);
		assert.equal(status.unsaved, 2);
		assert.equal(session.getEntries().length, 4);
		assert.equal(session.getEntries()[2].message, lost);
		fs.rmdirSync(file);
		fs.renameSync(`${file}.saved`, file);
		await session.ensureOnDisk();
		assert.deepEqual(
			lines(file).map((entry) => entry.message?.content?.[0]?.text ?? entry.message?.content),
			[undefined, "1", "2", "3", "4"],
		);
		assert.deepEqual(session.persistStatus(), { unsaved: 0, lastSaved: session.getLeafId() });
		assert.equal(logged.length, 1);
	});

	test("an error says what, where and why", async () => {
		const session = started();
		const file = session.getSessionFile();
		await session.close();
		fs.chmodSync(file, 0);
		fs.rmSync(file);
		fs.mkdirSync(file);
		try {
			session.appendMessage(user("3"));
			assert.fail("nothing was thrown");
		} catch (error) {
			assert.equal(error.name, "LeaflogError");
			assert.equal(error.path, file);
			assert.equal(error.code, "IS_A_DIRECTORY");
			assert.equal(error.entryId, session.getLeafId());
			assert.equal(session.getEntry(error.entryId).message.content, "3");
		}
		// B23: nothing was appended, so there is no id.
		for (const refused of [() => session.appendMessage([]), () => session.appendLabelChange("none", "x")]) {
			assert.throws(refused, (error) => error.entryId === undefined && !("entryId" in error));
		}
	});

	test("R53a: another's lock ends the wait with LOCKED, and passes", async () => {
		const session = started({ lockTimeoutMs: 0 });
		const release = await holdLock(session);
		if (release === undefined) return;
		const message = user("3");
		let id;
		assert.throws(
			() => session.appendMessage(message),
			(error) => {
				assert.equal(error.code, "LOCKED");
				id = error.entryId;
				return true;
			},
		);
		// B23: the entry is there, and the error names it.
		assert.equal(session.getLeafId(), id);
		assert.equal(session.getEntry(id).message, message);
		assert.equal(session.getEntries().length, 3);
		assert.equal(session.persistStatus().unsaved, 1);
		await release();
		session.appendMessage(user("4"));
		assert.equal(lines(session.getSessionFile()).length, 5);
	});

	test("u14: another's lock holds the engine for a moment only, and nothing is lost", async () => {
		const session = started();
		const release = await holdLock(session);
		if (release === undefined) return;
		const begin = performance.now();
		assert.throws(() => session.appendMessage(user("3")), { code: "LOCKED" });
		let done = 0;
		const waiting = [session.flush(), session.setSessionName("name", "user"), session.rewriteEntries()];
		for (const promise of waiting) void promise.then(() => done++);
		// The promises wait elsewhere: appends come in between, and so do others' events.
		await new Promise((resolve) => setTimeout(resolve, 1));
		assert.throws(() => session.appendMessage(user("4")), { code: "LOCKED" });
		await new Promise((resolve) => setImmediate(resolve));
		assert.equal(done, 0);
		assert.equal(session.persistStatus().unsaved, 2);
		// Two appends and the first tries of two promises, of 100 ms each: not 10 seconds each.
		assert.ok(performance.now() - begin < 5000);
		await release();
		await Promise.all(waiting);
		assert.equal(session.persistStatus().unsaved, 0);
		const [header, ...entries] = lines(session.getSessionFile()).filter(({ type }) => type !== "title");
		assert.equal(header.type, "session");
		assert.deepEqual(
			entries.map(({ message }) => message.content[0]?.text ?? message.content),
			["1", "2", "3", "4"],
		);
		assert.equal((await SessionManager.open(session.getSessionFile())).getSessionName(), "name");
	});

	test("u14: closing waits for another's lock, and what is unsaved is written first", async () => {
		for (const leave of [(session) => session.close(), (session) => session.newSession()]) {
			const session = started();
			const file = session.getSessionFile();
			const release = await holdLock(session);
			if (release === undefined) return;
			assert.throws(() => session.appendMessage(user("3")), { code: "LOCKED" });
			const left = leave(session);
			await new Promise((resolve) => setImmediate(resolve));
			await release();
			await left;
			assert.equal(lines(file).at(-1).message.content, "3");
		}
	});

	test("u14: a number of milliseconds holds for promises too", async () => {
		const session = started({ lockTimeoutMs: 1 });
		const release = await holdLock(session);
		if (release === undefined) return;
		assert.throws(() => session.appendMessage(user("3")), { code: "LOCKED" });
		await assert.rejects(session.flush(), { code: "LOCKED" });
		await assert.rejects(session.setSessionName("name", "user"), { code: "LOCKED" });
		await release();
		await session.flush();
		assert.equal(session.persistStatus().unsaved, 0);
	});
});
