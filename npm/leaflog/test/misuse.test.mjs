// What a program may get wrong: values of other types, objects that throw, storages that fail, calls at
// the wrong moment. Each gives an error with a code, or does what plain JavaScript would; nothing ends
// the process, and nothing that was appended is lost.
import assert from "node:assert/strict";
import * as fs from "node:fs";
import { createRequire } from "node:module";
import * as path from "node:path";
import { describe, test } from "node:test";
import * as leaflog from "leaflog";
import { configure, LeaflogError, MemorySessionStorage, SessionManager } from "leaflog";
import { assistant, lines, session as sessionOf, started, tempDir, user, write } from "./support.mjs";

const require = createRequire(import.meta.url);
const named = { ...leaflog };

const thrown = new Error("thrown by the value");
const throws = () => {
	throw thrown;
};
const cyclic = {};
cyclic.self = cyclic;
const { proxy: revoked, revoke } = Proxy.revocable({}, {});
revoke();

/** Values that hardly anything takes. */
const VALUES = [
	undefined,
	null,
	5,
	-1.5,
	Number.NaN,
	Number.POSITIVE_INFINITY,
	5n,
	true,
	Symbol("s"),
	() => {},
	{},
	Object.create(null),
	[1],
	cyclic,
	new Date(Number.NaN),
	new Proxy({}, { get: throws, ownKeys: throws, getPrototypeOf: throws }),
	revoked,
	{ toJSON: throws, toString: throws, [Symbol.toPrimitive]: throws },
	{ "big ": "x".repeat(100_000) },
	"half \ud83d",
	"nul \0",
	"",
];

const CODES = ["INVALID_ARGUMENT", "ENTRY_NOT_FOUND", "NOT_FOUND", "ALREADY_EXISTS", "IS_A_DIRECTORY", "NOT_A_SESSION"];
/** What methods of storages give instead. */
const SYSTEM = ["ENOENT", "EISDIR", "ENOTDIR", "ENOTEMPTY", "ENOTSUP", "EINVAL", "EEXIST"];

/** Runs a call with each value; what it throws must be an error that says what is wrong. */
async function each(name, call) {
	for (const [at, value] of VALUES.entries()) {
		try {
			await call(value);
		} catch (error) {
			const what = `${name} with value ${at}: ${error?.stack}`;
			if (error instanceof LeaflogError) {
				assert.ok([...CODES, ...SYSTEM].includes(error.code), `${error.code} of ${what}`);
				assert.ok(error.message.length < 500, what);
			} else assert.ok(error === thrown || error instanceof TypeError, what);
		}
	}
}

/** The file has what the session has, and both can be gone on with. */
async function isWhole(session) {
	session.appendMessage(user("after"));
	const ids = session.getEntries().map((entry) => entry.id);
	assert.deepEqual(
		lines(session.getSessionFile())
			.slice(1)
			.map((entry) => entry.id),
		ids,
	);
	const again = await SessionManager.open(session.getSessionFile());
	assert.deepEqual(JSON.parse(JSON.stringify(again.getEntries())), JSON.parse(JSON.stringify(session.getEntries())));
	assert.deepEqual(
		Object.entries(again.getLoadReport()).filter(
			([what, found]) => what !== "emptyCompactions" && Array.isArray(found) && found.length > 0,
		),
		[],
	);
}

describe("values of other types", () => {
	test("makers and finders", async () => {
		const dir = tempDir();
		const inside = (value) => (typeof value === "string" ? path.join(dir, "in", value) : value);
		await each("create", (value) => SessionManager.create(value, dir));
		await each("create, folder", (value) => SessionManager.create(dir, inside(value)));
		await each("create, storage", (value) => SessionManager.create(dir, dir, value));
		await each("create, options", (value) => SessionManager.create(dir, dir, undefined, value));
		await each("inMemory", (value) => SessionManager.inMemory(value));
		await each("open", (value) => SessionManager.open(inside(value)));
		await each("open, storage", (value) => SessionManager.open(path.join(dir, "s.jsonl"), dir, value));
		await each("forkFrom", (value) => SessionManager.forkFrom(inside(value), dir, dir));
		await each("forkFrom, cwd", (value) => SessionManager.forkFrom(path.join(dir, "s.jsonl"), value, dir));
		await each("continueRecent", (value) => SessionManager.continueRecent(value, path.join(dir, "c")));
		await each("list", (value) => SessionManager.list(value, dir));
		await each("list, options", (value) => SessionManager.list(dir, dir, undefined, value));
		await each("listAll", (value) => SessionManager.listAll(value));
		await each("getDefaultSessionDir", (value) => SessionManager.getDefaultSessionDir(value));
		await each("getRecentSessions", (value) => leaflog.getRecentSessions(inside(value)));
		await each("getRecentSessions, limit", (value) => leaflog.getRecentSessions(dir, value));
		await each("findMostRecentSession", (value) => leaflog.findMostRecentSession(inside(value)));
		await each("resolveResumableSession", (value) => leaflog.resolveResumableSession(value, dir, dir));
		await each("resolveResumableSession, cwd", (value) => leaflog.resolveResumableSession("a", value, dir));
		// Nothing but all projects means all projects.
		await assert.rejects(SessionManager.list(undefined), { code: "INVALID_ARGUMENT" });
	});

	test("every method of a session; afterwards it is what it was", async () => {
		const session = started();
		const asynchronous = ["allocateArtifactPath", "getArtifactPath", "putBlob", "setSessionName"];
		const reads = ["getEntry", "getChildren", "getBranch", "getLabel"];
		for (const name of [...asynchronous, ...reads, "restoreState"]) await each(name, (value) => session[name](value));
		await each("saveArtifact", (value) => session.saveArtifact(value, "tool"));
		await each("saveArtifact, type", (value) => session.saveArtifact("text", value));
		const appends = Object.getOwnPropertyNames(SessionManager.prototype).filter((name) => name.startsWith("append"));
		assert.equal(appends.length, 13);
		const anchor = session.getLeafId();
		for (const name of [...appends, "branchWithSummary"]) {
			await each(name, (value) => session[name](value));
			await each(`${name}, second`, (value) => session[name](anchor, value));
			await each(`${name}, all`, (value) => session[name](...Array(7).fill(value)));
		}
		await each("branch", (value) => session.branch(value));
		await isWhole(session);
	});

	test("what puts another session in its place", async () => {
		for (const name of ["setSessionFile", "moveTo", "newSession", "createBranchedSession"]) {
			await each(name, async (value) => {
				const session = started();
				const dir = session.getSessionDir();
				const given = name === "setSessionFile" && typeof value === "string" ? path.join(dir, `x${value}`) : value;
				try {
					await session[name](given);
				} finally {
					// No failure of a wrong argument stays in force.
					session.appendMessage(assistant("on"));
					assert.equal(session.persistStatus().unsaved, 0);
				}
			});
		}
	});

	test("functions, stores and storages", async () => {
		const dir = tempDir();
		const inside = (value) => (typeof value === "string" ? path.join(dir, "in", value) : value);
		const entries = sessionOf([["message", { message: user("1") }]]).slice(1);
		await each("configure", (value) => configure(value));
		for (const key of ["agentDir", "configDirName", "dirNaming", "migrationRewrite", "durability", "lockTimeoutMs"])
			await each(key, (value) => SessionManager.create(dir, dir, undefined, { [key]: value }));
		await each("buildSessionContext", (value) => leaflog.buildSessionContext(value));
		await each("buildSessionContext, entry", (value) => leaflog.buildSessionContext([...entries, value]));
		await each("buildSessionContext, leaf", (value) => leaflog.buildSessionContext(entries, value));
		await each("migrateSessionEntries", (value) => leaflog.migrateSessionEntries(value));
		await each("migrateSessionEntries, entry", (value) => leaflog.migrateSessionEntries([value]));
		await each("parseSessionEntries", (value) => leaflog.parseSessionEntries(value));
		await each("loadEntriesFromFile", (value) => leaflog.loadEntriesFromFile(inside(value)));
		await each("getLatestCompactionEntry", (value) => leaflog.getLatestCompactionEntry([value]));
		for (const name of ["isBlobRef", "parseBlobRef", "isImageDataUrl"]) await each(name, (value) => named[name](value));
		const blobs = new leaflog.BlobStore(path.join(dir, "blobs"));
		for (const name of ["put", "get", "has"]) await each(name, (value) => blobs[name](value));
		for (const name of ["externalizeImageData", "resolveImageData", "externalizeImageDataUrl", "resolveImageDataUrl"])
			await each(name, (value) => named[name](blobs, value));
		await each("ArtifactManager", (value) => new leaflog.ArtifactManager(value));
		for (const storage of [new leaflog.FileSessionStorage(), new MemorySessionStorage()]) {
			const methods = ["ensureDirSync", "existsSync", "statSync", "exists", "readText", "readTextPrefix"];
			for (const name of [
				...methods,
				"unlink",
				"listFilesSync",
				"writeTextSync",
				"writeText",
				"rename",
				"openWriter",
			]) {
				await each(name, (value) => storage[name](inside(value), 5));
				const second = name === "rename" ? inside : (value) => value;
				await each(`${name}, second`, (value) => storage[name](path.join(dir, "second"), second(value)));
			}
			const writer = storage.openWriter(path.join(dir, "lines"));
			await each("writeLine", (value) => writer.writeLine(value));
			await writer.close();
		}
		await each("deleteSessionWithArtifacts", (value) =>
			new leaflog.FileSessionStorage().deleteSessionWithArtifacts(inside(value)),
		);
		const history = leaflog.HistoryStorage.open(path.join(dir, "h.db"));
		for (const name of ["add", "getRecent"]) await each(name, (value) => history[name](value));
		await each("add, cwd", (value) => history.add("prompt", value));
		await each("search", (value) => history.search(value, 5));
		await each("search, limit", (value) => history.search("prompt", value));
		leaflog.HistoryStorage.resetInstance();
	});

	test("an option is refused when it is set, not when it is used", () => {
		for (const wrong of [
			{ agentDir: 5 },
			{ configDirName: {} },
			{ dirNaming: "relative" },
			{ migrationRewrite: true },
			{ durability: "always" },
			{ lockTimeoutMs: "5" },
			{ lockTimeoutMs: -1 },
			{ lockTimeoutMs: Number.NaN },
			{ lockTimeoutMs: 5n },
			{ logger: {} },
		])
			assert.throws(() => configure(wrong), { name: "LeaflogError", code: "INVALID_ARGUMENT" }, Object.keys(wrong)[0]);
		const session = started({ lockTimeoutMs: Number.POSITIVE_INFINITY, logger: null, agentDir: null });
		session.appendMessage(user("no end of waiting is a time too"));
		assert.equal(started({ lockTimeoutMs: 0.5 }).getEntries().length, 2);
	});

	test("counts: what is no number is none, fractions are cut, too many are all", async () => {
		const dir = tempDir();
		for (let at = 0; at < 3; at++)
			write(path.join(dir, `${at}.jsonl`), sessionOf([["message", { message: user("x") }]], { id: `s${at}` }));
		const found = async (limit) => (await leaflog.getRecentSessions(dir, limit)).length;
		assert.deepEqual(
			await Promise.all([0, -1, Number.NaN, Number.NEGATIVE_INFINITY, null, {}].map(found)),
			[0, 0, 0, 0, 0, 0],
		);
		assert.deepEqual(
			await Promise.all([1.9, 2, 3, 2 ** 40, Number.POSITIVE_INFINITY, "2"].map(found)),
			[1, 2, 3, 3, 3, 2],
		);
		const storage = new MemorySessionStorage();
		storage.writeTextSync("/f", "abc");
		const prefixes = [-1, Number.NaN, 1.9, 2 ** 32 + 1, Number.POSITIVE_INFINITY];
		assert.deepEqual(await Promise.all(prefixes.map((most) => storage.readTextPrefix("/f", most))), [
			"",
			"",
			"a",
			"abc",
			"abc",
		]);
	});

	test("the codes in the types are those of the core", () => {
		const types = fs.readFileSync(path.join(path.dirname(require.resolve("leaflog")), "errors.d.ts"), "utf8");
		const [, union] = /type LeaflogErrorCode = ([^;]+);/.exec(types);
		const codes = union.split("|").map((code) => JSON.parse(code));
		const { native } = require(path.join(path.dirname(require.resolve("leaflog")), "native.js"));
		// A panic has no code in the core.
		assert.deepEqual(codes, [...native.errorCodes(), "INTERNAL"]);
	});

	// In one number, what says that positions hold was exact for the first two million changes of a process only.
	test("b16: whether positions hold, and how many entries there are, are two numbers", () => {
		const { native } = require(path.join(path.dirname(require.resolve("leaflog")), "native.js"));
		const session = native.inMemory("/w", { env: {} });
		const stamp = () => {
			const numbers = new Float64Array(2);
			native.stamp(session, Buffer.from(numbers.buffer));
			return [...numbers];
		};
		const [generation, none] = stamp();
		assert.equal(none, 0);
		native.appendMessage(session, JSON.stringify({ role: "user", content: "a" }));
		native.appendMessage(session, JSON.stringify({ role: "user", content: "b" }));
		assert.deepEqual(stamp(), [generation, 2]);
		const before = native.captureState(session);
		native.appendMessage(session, JSON.stringify({ role: "user", content: "c" }));
		native.restoreState(session, before);
		const [other, two] = stamp();
		assert.ok(other > generation && Number.isSafeInteger(other));
		assert.equal(two, 2);
	});
});

describe("strings that are no text", () => {
	const half = "half \ud83d";

	test("R45: half a surrogate pair in what JSON carries stays what it is", async () => {
		const session = started();
		const id = session.appendCustomEntry(half, { [half]: half });
		const mark = session.appendLabelChange(id, half);
		session.appendCustomMessageEntry(half, half, true, half, half);
		session.appendModelChange(half, half);
		const [custom, label, message, model] = lines(session.getSessionFile()).slice(3);
		assert.deepEqual([custom.customType, custom.data], [half, { [half]: half }]);
		assert.equal(label.label, half);
		assert.deepEqual(Object.values(message).slice(1, 6), [half, half, true, half, half]);
		assert.deepEqual([model.model, model.role], [half, half]);
		assert.equal(session.getEntry(mark).label, half);
		await isWhole(session);
	});

	test("in names and paths it is U+FFFD, as the file system has it", async () => {
		const dir = tempDir();
		const session = await SessionManager.open(path.join(dir, `${half}.jsonl`));
		assert.ok(fs.existsSync(path.join(dir, "half \ufffd.jsonl")));
		assert.equal(session.getSessionFile(), path.join(dir, "half \ufffd.jsonl"));
		assert.equal(await session.setSessionName(half, "user"), true);
		assert.equal(session.getSessionName(), "half \ufffd");
		assert.equal(session.getHeader().title, "half \ufffd");
	});

	test("a NUL in a path is a wrong argument, and no failure of the session", async () => {
		const session = started();
		const nul = path.join(session.getSessionDir(), "a\0b");
		for (const call of [
			() => session.setSessionFile(nul),
			() => session.moveTo(nul),
			() => SessionManager.open(nul),
			() => SessionManager.forkFrom(nul, "/x"),
			() => new leaflog.FileSessionStorage().readText(nul),
		])
			await assert.rejects(call, { code: "INVALID_ARGUMENT" }, String(call));
		await isWhole(session);
	});
});

describe("objects with a will of their own", () => {
	test("what is longer than a string of the engine can be throws, and changes nothing", async () => {
		// Six characters for each; a string of V8 has at most 2^29 - 24.
		if (globalThis.Bun)
			return console.log("not applicable: a message that is too long (Bun's strings are four times as long)");
		const session = started();
		assert.throws(
			() => session.appendMessage(user("\u0001".repeat(90_000_000))),
			(error) => {
				assert.equal(error.code, "INVALID_ARGUMENT");
				return error.cause instanceof RangeError;
			},
		);
		assert.equal(session.getEntries().length, 2);
		await isWhole(session);
	});

	test("long messages, in every width of character, stand in the file as they were given", async () => {
		const session = started();
		// Around the length up to which a message goes to native code in an array.
		const contents = ["x", "é", "漢", "🎉", "\ud83d", "\u0001"].flatMap((unit) =>
			[100, 10_000, 21_700, 21_800, 65_500, 65_600, 200_000].map((length) => unit.repeat(length / unit.length)),
		);
		for (const content of contents) session.appendMessage(user(content));
		assert.deepEqual(
			lines(session.getSessionFile())
				.slice(3)
				.map((entry) => entry.message.content),
			contents,
		);
		await isWhole(session);
	});

	test("what a value throws is thrown, or is the cause, before anything changes", () => {
		const session = started();
		const before = session.getLeafId();
		const getter = {
			role: "user",
			get content() {
				return throws();
			},
		};
		for (const append of [
			() => session.appendMessage(getter),
			() => session.appendMessage({ role: "user", content: { toJSON: throws } }),
			() => session.appendCustomEntry("x", getter),
			() => session.appendCustomMessageEntry("x", "c", true, getter),
			() => session.branchWithSummary(session.getEntries()[0].id, "s", getter),
			() => session.appendSessionInit(new Proxy({}, { ownKeys: throws })),
			() => session.appendMCPToolSelection({ [Symbol.iterator]: throws }),
		])
			assert.throws(append, (error) => (error.cause ?? error) === thrown, String(append));
		assert.equal(session.getLeafId(), before);
		assert.equal(session.getEntries().length, 2);
	});

	test("a toJSON that appends: each is an entry, in the order they were made", async () => {
		const session = started();
		const outer = session.appendMessage({
			role: "user",
			toJSON() {
				session.appendMessage(user("inner"));
				return user("outer");
			},
		});
		assert.deepEqual(
			session
				.getEntries()
				.map((entry) => lines(session.getSessionFile()).find(({ id }) => id === entry.id).message.content),
			["1", [{ type: "text", text: "2" }], "inner", "outer"],
		);
		assert.equal(session.getLeafId(), outer);
		assert.equal(session.getLeafEntry().parentId, session.getEntries()[2].id);
	});

	test("what was changed in place to what JSON cannot say is named, and holds up rewrites only", async () => {
		for (const wrong of [1n, cyclic, { toJSON: throws }]) {
			const session = started();
			const entry = session.getEntries()[0];
			const { content } = entry.message;
			entry.message.content = wrong;
			for (const rewrite of [
				() => session.rewriteEntries(),
				() => session.setSessionName("name", "user"),
				async () => session.createBranchedSession(entry.id),
			])
				await assert.rejects(rewrite, (error) => {
					assert.equal(error.code, "INVALID_ARGUMENT");
					assert.ok(error.message.startsWith(`Entry ${entry.id} was changed`), error.message);
					assert.ok(error.cause instanceof Error);
					return true;
				});
			session.appendMessage(user("goes on"));
			entry.message.content = content;
			assert.equal(await session.setSessionName("name", "user"), true);
			await isWhole(session);
		}
		const session = started();
		session.getEntries()[1].toJSON = () => undefined;
		await assert.rejects(session.rewriteEntries(), { code: "INVALID_ARGUMENT" });
	});

	test("an entry that was frozen or sealed before its message was read", async () => {
		const file = write(
			path.join(tempDir(), "s.jsonl"),
			sessionOf(["1", "2", "3"].map((text) => ["message", { message: user(text) }])),
		);
		const session = await SessionManager.open(file);
		const [frozen, sealed, fixed] = session.getEntries();
		Object.freeze(frozen);
		Object.seal(sealed);
		Object.preventExtensions(fixed);
		assert.deepEqual(
			[frozen, sealed, fixed].map((entry) => entry.message.content),
			["1", "2", "3"],
		);
		for (const entry of [frozen, sealed, fixed]) assert.equal(entry.message, entry.message);
		assert.throws(() => {
			frozen.message = user("no");
		}, TypeError);
		sealed.message = user("two");
		assert.equal(sealed.message.content, "two");
		frozen.message.content = "one";
		const { messages } = session.buildSessionContext();
		assert.deepEqual([messages[0], messages[1], messages[2]], [frozen.message, sealed.message, fixed.message]);
		assert.equal(messages[0], frozen.message);
		await session.rewriteEntries();
		assert.deepEqual(
			lines(file)
				.slice(1)
				.map((entry) => entry.message.content),
			["one", "two", "3"],
		);
		await session.fork();
		assert.equal(session.getEntries()[0], frozen);
		assert.equal(session.buildSessionContext().messages[0], frozen.message);
	});

	test("an entry given with fields of its own base keeps its own", () => {
		const session = started();
		const init = { id: { mine: 1 }, parentId: [], timestamp: {}, task: "t", systemPrompt: "s", tools: [] };
		const id = session.appendSessionInit(init);
		const entry = session.getEntry(id);
		assert.equal(entry.id, id);
		assert.equal(typeof entry.timestamp, "string");
		assert.equal(entry.tools, init.tools);
	});

	test("a logger that throws does not take the failure's place", async () => {
		const session = started({ logger: { error: throws } });
		const file = session.getSessionFile();
		session.closeSync();
		fs.renameSync(file, `${file}.aside`);
		fs.mkdirSync(file);
		assert.throws(() => session.appendMessage(user("x")), { name: "LeaflogError" });
		await assert.rejects(session.flush(), { name: "LeaflogError" });
		fs.rmdirSync(file);
		fs.renameSync(`${file}.aside`, file);
		await session.ensureOnDisk();
		await isWhole(session);
	});
});

describe("a switch that fails", () => {
	test("R16: leaves the session as it is, with the objects that were handed out", async () => {
		const session = started();
		const [first, second] = session.getEntries();
		const usage = session.getUsageStatistics();
		const message = assistant("kept");
		session.appendMessage(message);
		first.message.content = "changed in place";
		for (const fails of [
			() => session.setSessionFile(session.getSessionDir()),
			() => session.setSessionFile(5),
			async () => session.restoreState({}),
			async () => session.createBranchedSession("nobody"),
		]) {
			await assert.rejects(fails, { name: "LeaflogError" }, String(fails));
			assert.equal(session.getEntries()[0], first);
			assert.equal(session.getEntries()[1], second);
			assert.equal(session.getEntries()[2].message, message);
			assert.equal(session.getUsageStatistics(), usage);
		}
		session.appendMessage(user("seen"));
		assert.equal(session.getEntries().length, 4);
		await session.rewriteEntries();
		assert.equal(lines(session.getSessionFile())[1].message.content, "changed in place");
	});
});
