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
});
