import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { SessionManager } from "leaflog";
import { assistant, lines, session as sessionOf, tempDir, user, write } from "./support.mjs";

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

/** Runs code in a process of its own, under this engine. */
function run(code, ...args) {
	return execFileSync(process.execPath, ["-e", code, ...args], { cwd: root, encoding: "utf8" });
}

describe("processes", () => {
	test("R54: process.exit() right after an append loses nothing, and neither does being killed", () => {
		for (const end of ["process.exit(0)", "process.kill(process.pid, 'SIGKILL')"]) {
			const dir = tempDir();
			const code = `
				const { SessionManager } = require("leaflog");
				const dir = process.argv.at(-1);
				const session = SessionManager.create(dir, dir);
				session.appendMessage({ role: "assistant", content: [] });
				for (let at = 0; at < 100; at++) session.appendMessage({ role: "user", content: String(at) });
				${end};
			`;
			spawnSync(process.execPath, ["-e", code, dir], { cwd: root });
			const [file] = fs.readdirSync(dir).filter((name) => name.endsWith(".jsonl"));
			const entries = lines(path.join(dir, file));
			assert.equal(entries.length, 102, end);
			assert.equal(entries[101].message.content, "99", end);
		}
	});

	test("R53: processes that append at once lose nothing", async () => {
		const dir = tempDir();
		const session = SessionManager.create(dir, dir);
		session.appendMessage(assistant("go"));
		const file = session.getSessionFile();
		const code = `
			const { SessionManager } = require("leaflog");
			SessionManager.open(process.argv.at(-2)).then((session) => {
				for (let at = 0; at < 200; at++) session.appendMessage({ role: "user", content: process.argv.at(-1) + at });
			});
		`;
		const { spawn } = await import("node:child_process");
		const { once } = await import("node:events");
		const others = ["a", "b"].map((name) =>
			spawn(process.execPath, ["-e", code, file, name], { cwd: root, stdio: "inherit" }),
		);
		const ends = others.map((other) => once(other, "exit"));
		for (let at = 0; at < 200; at++) {
			session.appendMessage(user(`m${at}`));
			await new Promise((resolve) => setImmediate(resolve));
		}
		for (const end of ends) assert.deepEqual((await end)[0], 0);
		const texts = lines(file)
			.slice(2)
			.map((entry) => entry.message.content);
		for (const name of ["a", "b", "m"]) {
			assert.deepEqual(
				texts.filter((text) => text.startsWith(name)),
				Array.from({ length: 200 }, (_, at) => `${name}${at}`),
			);
		}
		const ids = lines(file).map((entry) => entry.id);
		assert.equal(new Set(ids).size, ids.length);
	});

	test("10,000 times opened and closed, memory and descriptors are where they were", async () => {
		const dir = tempDir();
		const file = write(
			path.join(dir, "s.jsonl"),
			sessionOf(Array.from({ length: 20 }, (_, at) => ["message", { message: user(`${at}`) }])),
		);
		const cycles = async (count) => {
			for (let at = 0; at < count; at++) {
				const session = await SessionManager.open(file);
				session.getEntries()[3].message;
				session.appendCustomEntry.length;
				await session.close();
			}
			for (let at = 0; at < 5; at++) {
				globalThis.gc?.();
				globalThis.Bun?.gc(true);
				await new Promise((resolve) => setTimeout(resolve, 5));
			}
		};
		const open = () => (fs.existsSync("/proc/self/fd") ? fs.readdirSync("/proc/self/fd").length : 0);
		await cycles(2000);
		const [descriptors, memory] = [open(), process.memoryUsage().rss];
		await cycles(10_000);
		assert.ok(open() <= descriptors + 5, `${open()} descriptors after ${descriptors}`);
		const grown = (process.memoryUsage().rss - memory) / 2 ** 20;
		// 1 KiB a cycle would be 10 MiB.
		assert.ok(grown < 32, `${grown.toFixed(1)} MiB more`);
	});

	test("promises nobody waits for do not end the process", () => {
		const dir = tempDir();
		const code = `
			const { SessionManager } = require("leaflog");
			const fs = require("node:fs");
			const dir = process.argv.at(-1);
			const session = SessionManager.create(dir, dir);
			session.appendMessage({ role: "assistant", content: [] });
			session.closeSync();
			fs.renameSync(session.getSessionFile(), session.getSessionFile() + ".x");
			fs.mkdirSync(session.getSessionFile());
			try { session.appendMessage({ role: "user", content: "" }); } catch {}
			session.flush();
			session.close();
			session.rewriteEntries();
			session.setSessionName("x", "user");
			setTimeout(() => console.log("still here"), 50);
		`;
		assert.equal(run(code, dir).trim(), "still here");
	});

	test("an exception nobody catches, right after an append, loses nothing", () => {
		const dir = tempDir();
		const code = `
			const { SessionManager } = require("leaflog");
			const session = SessionManager.create(process.argv.at(-1), process.argv.at(-1));
			session.appendMessage({ role: "assistant", content: [] });
			session.flush();
			session.appendMessage({ role: "user", content: "last" });
			session.close();
			throw new Error("expected by the test");
		`;
		const { status, stderr } = spawnSync(process.execPath, ["-e", code, dir], { cwd: root, encoding: "utf8" });
		assert.equal(status, 1);
		assert.match(stderr, /expected by the test/);
		const [file] = fs.readdirSync(dir).filter((name) => name.endsWith(".jsonl"));
		assert.equal(lines(path.join(dir, file)).at(-1).message.content, "last");
	});

	test("what somebody added to Object.prototype or Array.prototype reaches no file", () => {
		const additions = {
			values: "Object.prototype.x = 5; Object.prototype.extra = { a: 1 };",
			"names of the library": `
				Object.assign(Object.prototype, { role: "assistant", message: "no", id: "no", type: "no", code: "no", agentDir: 5 });
				Object.prototype.get = Object.prototype.set = undefined;
			`,
			elements: "Array.prototype[1] = { no: 1 }; Array.prototype[2] = 'no';",
			"elements that are asked for": `
				for (const at of [0, 1, 2, 3]) Object.defineProperty(Array.prototype, at, {
					__proto__: null,
					configurable: true,
					get: () => ({ type: "message", id: "no", message: { role: "user", content: "no" } }),
					set(value) {
						const own = { __proto__: null, value, writable: true, enumerable: true, configurable: true };
						Object.defineProperty(this, at, own);
					},
				});
			`,
		};
		for (const [name, addition] of Object.entries(additions)) {
			const dir = tempDir();
			const code = `
				const dir = process.argv.at(-1);
				const { SessionManager } = require("leaflog");
				${addition}
				(async () => {
					const session = SessionManager.create(dir, dir);
					const messages = ["1", "2", "3", "4"].map((content) => ({ role: content === "2" ? "assistant" : "user", content }));
					for (const message of messages) session.appendMessage(message);
					const isSame = session.getEntries().every((entry, at) => entry.message === messages[at]);
					const again = await SessionManager.open(session.getSessionFile());
					again.getEntry(session.getEntries()[2].id).message.content = "three";
					await again.rewriteEntries();
					console.log(isSame, again.buildSessionContext().messages.map(({ content }) => content).join());
				})();
			`;
			assert.equal(run(code, dir).trim(), "true 1,2,three,4", name);
			const [file] = fs.readdirSync(dir).filter((name) => name.endsWith(".jsonl"));
			const [, ...entries] = lines(path.join(dir, file));
			const messages = ["1", "2", "three", "4"].map((content) => ({
				role: content === "2" ? "assistant" : "user",
				content,
			}));
			assert.deepEqual(
				entries.map((entry) => entry.message),
				messages,
				name,
			);
			assert.deepEqual(Object.keys(entries[3]), ["type", "id", "parentId", "timestamp", "message"], name);
		}
	});
});

describe("at the same time", () => {
	function started() {
		const dir = tempDir();
		const session = SessionManager.create(dir, dir);
		session.appendMessage(assistant("go"));
		return session;
	}
	const texts = (file) =>
		lines(file)
			.slice(2)
			.map((entry) => entry.message.content);

	test("appends while flushes, closes and rewrites are under way", async () => {
		const session = started();
		const waits = [];
		const expected = [];
		for (let at = 0; at < 100; at++) {
			expected.push(`${at}`);
			session.appendMessage(user(`${at}`));
			waits.push(session.flush());
			if (at % 10 === 0) waits.push(session.close());
			if (at % 25 === 0) waits.push(session.rewriteEntries());
		}
		await Promise.all(waits);
		assert.deepEqual(texts(session.getSessionFile()), expected);
	});

	test("what is called first is done first, whether somebody waits or not", async () => {
		const session = started();
		const [old, other] = [session.getSessionFile(), tempDir()];
		const flushed = session.flush();
		const moved = session.moveTo(other);
		session.appendMessage(user("in the moved one"));
		const forked = session.fork();
		session.appendMessage(user("in the fork"));
		await Promise.all([flushed, moved]);
		const { oldSessionFile, newSessionFile } = await forked;
		assert.equal(fs.existsSync(old), false);
		assert.deepEqual(texts(oldSessionFile), ["in the moved one"]);
		assert.deepEqual(texts(newSessionFile), ["in the moved one", "in the fork"]);
	});

	test("R53: many openings of a path that is not there are one session", async () => {
		const file = path.join(tempDir(), "new.jsonl");
		const sessions = await Promise.all(Array.from({ length: 20 }, () => SessionManager.open(file)));
		sessions.forEach((session, at) => {
			session.appendMessage(user(`${at}`));
		});
		assert.equal(new Set(sessions.map((session) => session.getSessionId())).size, 1);
		const [header, ...entries] = lines(file);
		assert.equal(header.id, sessions[0].getSessionId());
		assert.deepEqual(
			entries.map((entry) => entry.message.content),
			sessions.map((_, at) => `${at}`),
		);
	});

	test("threads: each loads the library; one that is stopped in the middle loses nothing that was acknowledged", async () => {
		const { Worker } = await import("node:worker_threads");
		const session = started();
		const code = `
			const { parentPort, workerData: { name, file, history, forever } } = require("node:worker_threads");
			const { HistoryStorage, SessionManager } = require("leaflog");
			SessionManager.open(file).then(async (session) => {
				await HistoryStorage.open(history).add("prompt of " + name);
				for (let at = 0; forever || at < 100; at++) {
					session.appendMessage({ role: "user", content: name + at });
					session.flush();
					SessionManager.open(file);
					parentPort.postMessage(at === 0 ? session.getLeafEntry() : at);
					if (at % 10 === 0) await new Promise(setImmediate);
				}
				HistoryStorage.resetInstance();
			});
		`;
		const history = path.join(tempDir(), "h.db");
		const seen = {};
		const work = (name, forever) =>
			new Promise((resolve, reject) => {
				const workerData = { name, file: session.getSessionFile(), history, forever };
				const worker = new Worker(code, { eval: true, workerData });
				worker.on("message", (message) => {
					seen[name] ??= message;
					if (typeof message === "number") seen[`${name}, last`] = message;
					if (forever && message === 50) worker.terminate();
				});
				worker.on("error", reject);
				worker.on("exit", resolve);
			});
		await Promise.all([work("a", false), work("b", false), work("stopped", true)]);
		session.appendMessage(user("here"));
		const written = texts(session.getSessionFile());
		for (const name of ["a", "b"]) {
			assert.deepEqual(
				written.filter((text) => text.startsWith(name)),
				Array.from({ length: 100 }, (_, at) => `${name}${at}`),
			);
			// A message of an entry goes to another thread as any object.
			assert.deepEqual(seen[name].message, { role: "user", content: `${name}0` });
		}
		const stopped = written.filter((text) => text.startsWith("stopped"));
		assert.ok(stopped.length > seen["stopped, last"], `${stopped.length} of ${seen["stopped, last"]}`);
		assert.equal(written.at(-1), "here");
	});
});
