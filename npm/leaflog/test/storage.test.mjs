import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { describe, test } from "node:test";
import { FileSessionStorage, loadEntriesFromFile, MemorySessionStorage, SessionManager } from "leaflog";
import { assistant, session as sessionOf, tempDir, user, write } from "./support.mjs";

/** A storage of one's own: a map, promises that take a while, and a record of what was called. */
class Slow {
	files = new Map();
	calls = [];
	/** Names of methods that fail, and with what. */
	failing = new Map();
	open = 0;

	async #later(name, run) {
		this.calls.push(name);
		await new Promise((resolve) => setImmediate(resolve));
		if (this.failing.has(name)) throw this.failing.get(name);
		return run();
	}

	ensureDirSync(dir) {
		this.calls.push(`ensureDirSync ${dir}`);
	}
	existsSync(file) {
		return this.files.has(file);
	}
	writeTextSync(file, content) {
		this.files.set(file, content);
	}
	statSync() {
		throw new Error("not used");
	}
	listFilesSync() {
		return [...this.files.keys()];
	}
	exists(file) {
		return this.#later("exists", () => this.files.has(file));
	}
	readText(file) {
		return this.#later("readText", () => this.files.get(file));
	}
	readTextPrefix(file, most) {
		return this.#later("readTextPrefix", () => this.files.get(file).slice(0, most));
	}
	writeText(file, content) {
		return this.#later("writeText", () => this.files.set(file, content));
	}
	rename(from, to) {
		return this.#later("rename", () => {
			this.files.set(to, this.files.get(from));
			this.files.delete(from);
		});
	}
	unlink(file) {
		return this.#later("unlink", () => this.files.delete(file));
	}
	openWriter(file, { flags }) {
		this.open++;
		if (flags === "w") this.files.set(file, "");
		return {
			writeLine: (line) => this.#later("writeLine", () => this.files.set(file, (this.files.get(file) ?? "") + line)),
			flush: () => this.#later("flush", () => {}),
			fsync: () => this.#later("fsync", () => {}),
			close: () =>
				this.#later("close", () => {
					this.open--;
				}),
			getError: () => undefined,
		};
	}

	values(file) {
		return this.files
			.get(file)
			.trimEnd()
			.split("\n")
			.map((line) => JSON.parse(line));
	}
}

const contents = (values) => values.map((value) => value.message?.content?.[0]?.text ?? value.message?.content);

describe("a storage of one's own", () => {
	test("R37, R54: drives a session: everything in order, one promise after another, flush waits", async () => {
		const storage = new Slow();
		const session = SessionManager.create("/project", "/sessions", storage);
		assert.deepEqual(storage.calls, ["ensureDirSync /sessions"]);
		session.appendMessage(user("1"));
		await session.flush();
		assert.equal(storage.files.size, 0);
		session.appendMessage(assistant("2"));
		for (let at = 3; at < 20; at++) session.appendMessage(user(`${at}`));
		await session.flush();
		const file = session.getSessionFile();
		assert.deepEqual([...storage.files.keys()], [file]);
		assert.deepEqual(
			contents(storage.values(file)).slice(1),
			Array.from({ length: 19 }, (_, at) => `${at + 1}`),
		);
		assert.ok(storage.calls.includes("fsync"));
		await session.close();
		assert.equal(storage.open, 0);
		session.appendMessage(user("20"));
		await session.close();
		assert.equal(storage.values(file).length, 21);
	});

	test("C: every member works over it", async () => {
		const storage = new Slow();
		storage.files.set(
			"/s/a.jsonl",
			sessionOf([["message", { message: user("1") }]])
				.map((v) => `${JSON.stringify(v)}\n`)
				.join(""),
		);
		const session = await SessionManager.open("/s/a.jsonl", undefined, storage);
		const [entry] = session.getEntries();
		entry.message.content = "changed";
		await session.rewriteEntries();
		assert.equal(storage.values("/s/a.jsonl")[1].message.content, "changed");
		assert.equal(await session.setSessionName("name", "user"), true);
		assert.equal(storage.values("/s/a.jsonl")[0].title, "name");
		const { newSessionFile } = await session.fork();
		assert.equal(storage.values(newSessionFile)[0].parentSession, "1f9d2a6b9c0d1234");
		assert.equal(session.getEntries()[0], entry);
		const branched = session.createBranchedSession("e1");
		await session.flush();
		assert.equal(storage.values(branched)[0].parentSession, newSessionFile);
		await session.moveTo("/elsewhere");
		assert.equal(storage.files.has(branched), false);
		assert.equal(storage.values(session.getSessionFile())[0].cwd, "/elsewhere");
		const state = session.captureState();
		await session.newSession();
		session.appendMessage(assistant("x"));
		await session.flush();
		assert.equal(storage.values(session.getSessionFile()).length, 2);
		session.restoreState(state);
		assert.equal(session.getEntries()[0].message.content, "changed");
		await session.setSessionFile("/s/new.jsonl");
		assert.deepEqual(storage.values("/s/new.jsonl"), [session.getHeader()]);
		await session.setSessionFile("/s/a.jsonl");
		assert.equal(session.getSessionName(), "name");
		const copy = await SessionManager.forkFrom("/s/a.jsonl", "/other", "/s", storage);
		assert.equal(storage.values(copy.getSessionFile())[1].message.content, "changed");
		const early = SessionManager.create("/p", "/s", storage);
		early.appendMessage(user("u"));
		await early.ensureOnDisk();
		assert.equal(storage.values(early.getSessionFile()).length, 2);
		assert.deepEqual(
			[...storage.files.keys()].filter((file) => !file.endsWith(".jsonl")),
			[],
		);
		assert.throws(() => session.flushSync(), { code: "INVALID_ARGUMENT" });
		assert.equal((await loadEntriesFromFile("/s/a.jsonl", storage)).length, 2);
		assert.deepEqual(await loadEntriesFromFile("/s/none.jsonl", storage), []);
	});

	test("R16: bytes that are no session are set aside in it", async () => {
		const storage = new Slow();
		storage.files.set("/s/a.jsonl", "notes\n");
		const session = await SessionManager.open("/s/a.jsonl", undefined, storage);
		const aside = [...storage.files.keys()].find((file) => file.startsWith("/s/a.jsonl.invalid-"));
		assert.equal(storage.files.get(aside), "notes\n");
		assert.deepEqual(storage.values("/s/a.jsonl"), [session.getHeader()]);
	});

	test("R32: its exception reaches the caller, stays in force, and ensureOnDisk tries again", async () => {
		const storage = new Slow();
		const logged = [];
		const session = SessionManager.create("/p", "/s", storage, { logger: { error: (line) => logged.push(line) } });
		session.appendMessage(assistant("1"));
		await session.flush();
		const thrown = new Error("the network is gone");
		storage.failing.set("writeLine", thrown);
		session.appendMessage(user("2"));
		const same = (error) => error === thrown;
		await assert.rejects(session.flush(), same);
		assert.throws(() => session.appendMessage(user("3")), same);
		await assert.rejects(session.rewriteEntries(), same);
		await assert.rejects(session.close(), same);
		assert.equal(session.persistStatus().error, thrown);
		assert.equal(logged.length, 1);
		storage.failing.clear();
		await session.ensureOnDisk();
		assert.deepEqual(contents(storage.values(session.getSessionFile())).slice(1), ["1", "2", "3"]);
		assert.equal(session.persistStatus().error, undefined);
		session.appendMessage(user("4"));
		await session.flush();
		assert.equal(storage.values(session.getSessionFile()).length, 5);
	});

	test("R32: one that does not keep the interface is a failure that is told, never a success", async () => {
		const failing = {
			"no writer": () => undefined,
			"a promise of a writer": async (writer) => writer,
			"a writer without fsync": ({ fsync: _, ...writer }) => writer,
			"a writer that rejects with nothing": (writer) => ({ ...writer, writeLine: () => Promise.reject() }),
			"a writer that throws a string": (writer) => ({
				...writer,
				writeLine() {
					throw "full";
				},
			}),
		};
		for (const [name, wrong] of Object.entries(failing)) {
			const storage = new Slow();
			const { openWriter } = storage;
			storage.openWriter = (...given) => wrong(openWriter.apply(storage, given));
			const session = SessionManager.create("/p", "/s", storage);
			session.appendMessage(assistant("1"));
			await assert.rejects(session.flush(), Error, name);
			assert.throws(() => session.appendMessage(user("2")), Error, name);
			await assert.rejects(session.ensureOnDisk(), Error, name);
			assert.ok(session.persistStatus().error instanceof Error, name);
			assert.equal(session.getEntries().length, 2, name);
			// Mended, it gets everything.
			storage.openWriter = openWriter;
			await session.ensureOnDisk();
			assert.equal(session.persistStatus().error, undefined);
			assert.equal(storage.files.get(session.getSessionFile()).trim().split("\n").length, 3, name);
		}
	});

	test("a folder that it cannot make is a failure as any other", async () => {
		const storage = new Slow();
		const session = SessionManager.create("/p", "/s", storage);
		const full = new Error("no folder");
		storage.ensureDirSync = () => {
			throw full;
		};
		await assert.rejects(session.moveTo("/q"), (error) => error === full);
		storage.ensureDirSync = () => {};
		await session.ensureOnDisk();
		session.appendMessage(assistant("1"));
		await session.flush();
		assert.throws(
			() =>
				SessionManager.create("/p", "/s", {
					ensureDirSync() {
						throw full;
					},
				}),
			(error) => error === full,
		);
	});

	test("R16: a file whose text it does not give is not taken for a missing one", async () => {
		for (const text of [undefined, null, 5, {}]) {
			const storage = new Slow();
			storage.files.set("/s/a.jsonl", text);
			await assert.rejects(SessionManager.open("/s/a.jsonl", undefined, storage), { code: "INVALID_ARGUMENT" });
			const session = SessionManager.create("/p", "/s", storage);
			await assert.rejects(session.setSessionFile("/s/a.jsonl"), { code: "INVALID_ARGUMENT" });
			assert.equal(storage.files.get("/s/a.jsonl"), text);
		}
	});

	test("what it throws while a session is opened reaches the caller", async () => {
		const storage = new Slow();
		const thrown = new Error("not today");
		storage.failing.set("exists", thrown);
		await assert.rejects(SessionManager.open("/s/a.jsonl", undefined, storage), (error) => error === thrown);
		storage.failing.clear();
		storage.failing.set("rename", thrown);
		await assert.rejects(SessionManager.open("/s/a.jsonl", undefined, storage), (error) => error === thrown);
		const dir = new Slow();
		dir.ensureDirSync = () => {
			throw thrown;
		};
		assert.throws(
			() => SessionManager.create("/p", "/s", dir),
			(error) => error === thrown,
		);
	});
});

const storages = { FileSessionStorage, MemorySessionStorage };

for (const [name, Storage] of Object.entries(storages)) {
	describe(name, () => {
		test("R37: the methods", async () => {
			const storage = new Storage();
			const dir = tempDir();
			const at = (...names) => path.join(dir, ...names);
			storage.ensureDirSync(at("d"));
			assert.equal(storage.existsSync(at("d", "a.txt")), false);
			storage.writeTextSync(at("d", "a.txt"), "é");
			assert.equal(await storage.exists(at("d", "a.txt")), true);
			assert.equal(await storage.readText(at("d", "a.txt")), "é");
			const { size, mtime, mtimeMs } = storage.statSync(at("d", "a.txt"));
			assert.equal(size, name === "FileSessionStorage" ? 2 : 1);
			assert.ok(mtime instanceof Date);
			assert.ok(Math.abs(mtimeMs - Date.now()) < 60_000);
			await storage.writeText(at("d", "b.jsonl"), "0123456789");
			assert.equal(await storage.readTextPrefix(at("d", "b.jsonl"), 4), "0123");
			assert.deepEqual(storage.listFilesSync(at("d"), "*").sort(), [at("d", "a.txt"), at("d", "b.jsonl")]);
			assert.deepEqual(storage.listFilesSync(at("d"), "*.jsonl"), [at("d", "b.jsonl")]);
			assert.deepEqual(storage.listFilesSync(at("d"), "a.txt"), [at("d", "a.txt")]);
			assert.deepEqual(storage.listFilesSync(at("none"), "*"), []);
			await storage.rename(at("d", "a.txt"), at("d", "c.txt"));
			assert.equal(storage.existsSync(at("d", "a.txt")), false);
			await storage.unlink(at("d", "c.txt"));
			assert.equal(storage.existsSync(at("d", "c.txt")), false);
		});

		test("R37: writers", async () => {
			const storage = new Storage();
			const file = path.join(tempDir(), "deep", "w.jsonl");
			const first = storage.openWriter(file, { flags: "w" });
			await first.writeLine("1\n");
			await first.writeLine("2\n");
			await first.flush();
			await first.fsync();
			await first.close();
			await first.close();
			const errors = [];
			const second = storage.openWriter(file, { onError: (error) => errors.push(error) });
			await second.writeLine("3\n");
			await second.close();
			assert.equal(await storage.readText(file), "1\n2\n3\n");
			await assert.rejects(second.writeLine("4\n"), { message: "Writer closed" });
			assert.equal(second.getError(), undefined);
			assert.deepEqual(errors, []);
			const third = storage.openWriter(file, { flags: "w" });
			await third.close();
			assert.equal(await storage.readText(file), "");
		});

		test("a session over it", async () => {
			const storage = new Storage();
			const dir = tempDir();
			const session = SessionManager.create(dir, dir, storage);
			session.appendMessage(user("1"));
			session.appendMessage(assistant("2"));
			const file = session.getSessionFile();
			assert.equal((await storage.readText(file)).trimEnd().split("\n").length, 3);
			assert.equal(fs.existsSync(file), name === "FileSessionStorage");
			await session.close();
			const again = await SessionManager.open(file, undefined, storage);
			assert.deepEqual(again.getEntries(), session.getEntries());
			assert.equal((await loadEntriesFromFile(file, storage)).length, 3);
		});

		test("a method that was replaced is called", async () => {
			const storage = new Storage();
			const dir = tempDir();
			const opened = [];
			const original = storage.openWriter;
			storage.openWriter = (file, options) => {
				opened.push(file);
				return original.call(storage, file, options);
			};
			const session = SessionManager.create(dir, dir, storage);
			session.appendMessage(assistant("1"));
			await session.close();
			assert.equal(opened.length, 1);
			assert.equal((await storage.readText(session.getSessionFile())).trimEnd().split("\n").length, 2);
		});
	});
}

test("R53d, f13: in a storage too, what nobody changed here never goes over what another manager changed", async () => {
	const storage = new MemorySessionStorage();
	const session = SessionManager.create("/p", "/s", storage);
	const [first, second] = [session.appendMessage(user("1")), session.appendMessage(user("2"))];
	await session.ensureOnDisk();
	const state = session.captureState();
	session.getEntry(second).message.content = "ours";
	assert.equal(session.getEntry(first).message.content, "1");
	const file = session.getSessionFile();
	const other = await SessionManager.open(file, undefined, storage);
	other.getEntry(first).message.content = "theirs";
	await other.rewriteEntries();
	// From then on what is there counts, not what was.
	session.restoreState(state);
	session.appendMessage(user("3"));
	for (const name of ["takes it in", "writes it anew"]) await session.setSessionName(name, "user");
	const texts = (manager) => manager.getEntries().map((entry) => entry.message.content);
	assert.deepEqual(texts(await SessionManager.open(file, undefined, storage)), ["theirs", "ours", "3"]);
	assert.deepEqual(texts(session), ["theirs", "ours", "3"]);
});

describe("what is not there", () => {
	test("R37: files as node:fs says it, memory by its own words", async () => {
		const files = new FileSessionStorage();
		const gone = path.join(tempDir(), "gone");
		await assert.rejects(files.readText(gone), { code: "ENOENT", path: gone });
		await assert.rejects(files.readTextPrefix(gone, 1), { code: "ENOENT" });
		await assert.rejects(files.unlink(gone), { code: "ENOENT" });
		assert.throws(() => files.statSync(gone), { code: "ENOENT" });
		await files.rename(gone, `${gone}2`);
		const memory = new MemorySessionStorage();
		for (const failing of [memory.readText("/gone"), memory.readTextPrefix("/gone", 1), memory.rename("/gone", "/x")]) {
			await assert.rejects(failing, { message: "File not found: /gone" });
		}
		assert.throws(() => memory.statSync("/gone"), { message: "File not found: /gone" });
		await memory.unlink("/gone");
	});

	test("R56: deleteSessionWithArtifacts", async () => {
		const storage = new FileSessionStorage();
		const dir = tempDir();
		const file = write(path.join(dir, "s.jsonl"), sessionOf([]));
		fs.mkdirSync(path.join(dir, "s"));
		fs.writeFileSync(path.join(dir, "s", "0.bash.log"), "x");
		await assert.rejects(storage.deleteSessionWithArtifacts(dir), { code: "INVALID_ARGUMENT" });
		await storage.deleteSessionWithArtifacts(file);
		assert.deepEqual(fs.readdirSync(dir), []);
		fs.mkdirSync(path.join(dir, "s"));
		await assert.rejects(storage.deleteSessionWithArtifacts(file), { code: "ENOENT" });
		assert.deepEqual(fs.readdirSync(dir), ["s"]);
	});
});
