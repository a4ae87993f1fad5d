// What is published, installed into an empty folder: from ES modules, CommonJS and TypeScript, in
// Node, in Bun, and inside a compiled program. Run under Node only; Bun is started where it matters.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import * as fs from "node:fs";
import { createRequire } from "node:module";
import * as os from "node:os";
import * as path from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";

const root = path.dirname(path.dirname(path.dirname(fileURLToPath(import.meta.url))));
const bun = path.join(root, "node_modules", "bun", "bin", "bun.exe");
const bin = (name) => path.join(root, "node_modules", ".bin", name);
const vitest = path.join(root, "node_modules", "vitest", "vitest.mjs");

const dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "leaflog-package-")));
const app = path.join(dir, "app");
const run = (command, args, cwd = app) => execFileSync(command, args, { cwd, encoding: "utf8" });
const put = (name, text) => fs.writeFileSync(path.join(app, name), text);

const USE = `
const session = SessionManager.inMemory("/x");
const id = session.appendMessage({ role: "user", content: "hello" });
console.log(session.getEntry(id).message.content, CURRENT_SESSION_VERSION);
`;
const PRINTS = "hello 3\n";

let tarballs;

before(() => {
	run(process.execPath, [path.join(root, "scripts", "package.mjs"), dir, "--here"], root);
	tarballs = fs.readdirSync(dir).filter((name) => name.endsWith(".tgz"));
	fs.mkdirSync(app);
	put("package.json", '{ "private": true }');
	run("npm", ["install", "--offline", "--no-audit", "--no-fund", ...tarballs.map((name) => path.join(dir, name))]);
});

after(() => fs.rmSync(dir, { recursive: true, force: true }));

describe("the package", () => {
	test("holds what it needs and nothing else", () => {
		assert.equal(tarballs.length, 2);
		const {
			dependencies,
			devDependencies,
			private: isPrivate,
			scripts,
		} = JSON.parse(fs.readFileSync(path.join(app, "node_modules", "leaflog", "package.json"), "utf8"));
		assert.deepEqual([dependencies, devDependencies, isPrivate, scripts], [undefined, undefined, undefined, undefined]);
		assert.deepEqual(
			fs
				.readdirSync(path.join(app, "node_modules"))
				.filter((name) => !name.startsWith("."))
				.sort(),
			["@leaflog", "leaflog"],
		);
		assert.deepEqual(fs.readdirSync(path.join(app, "node_modules", "leaflog")).sort(), [
			"LICENSE",
			"README.md",
			"dist",
			"package.json",
		]);
		const native = path.join(app, "node_modules", "@leaflog");
		const [name] = fs.readdirSync(native);
		assert.deepEqual(fs.readdirSync(path.join(native, name)).sort(), [
			"LICENSE",
			"README.md",
			"leaflog.node",
			"package.json",
		]);
		assert.equal(JSON.parse(fs.readFileSync(path.join(native, name, "package.json"), "utf8")).private, undefined);
	});

	test("publint and attw find nothing", () => {
		run(bin("publint"), ["--strict", path.join(app, "node_modules", "leaflog")]);
		const tarball = tarballs.find((name) => name.startsWith("leaflog-0"));
		run(bin("attw"), [path.join(dir, tarball), "--no-emoji"]);
	});

	test("as an ES module", () => {
		put("esm.mjs", `import { CURRENT_SESSION_VERSION, SessionManager } from "leaflog";${USE}`);
		assert.equal(run(process.execPath, ["esm.mjs"]), PRINTS);
		assert.equal(run(bun, ["esm.mjs"]), PRINTS);
	});

	test("as CommonJS", () => {
		put("cjs.cjs", `const { CURRENT_SESSION_VERSION, SessionManager } = require("leaflog");${USE}`);
		assert.equal(run(process.execPath, ["cjs.cjs"]), PRINTS);
		assert.equal(run(bun, ["cjs.cjs"]), PRINTS);
	});

	test("both are one instance", () => {
		put(
			"both.mjs",
			`import { createRequire } from "node:module";
			import { SessionManager } from "leaflog";
			console.log(createRequire(import.meta.url)("leaflog").SessionManager === SessionManager);`,
		);
		assert.equal(run(process.execPath, ["both.mjs"]), "true\n");
	});

	test("from TypeScript, in each way modules are resolved", () => {
		put(
			"use.ts",
			`import { type SessionEntry, SessionManager } from "leaflog";
			const entries: SessionEntry[] = SessionManager.inMemory("/x").getEntries();
			export const ids: string[] = entries.map((entry) => entry.id);
			// @ts-expect-error: no such member
			SessionManager.inMemory("/x").nothing();`,
		);
		for (const [module, resolution] of [
			["node16", "node16"],
			["nodenext", "nodenext"],
			["esnext", "bundler"],
		]) {
			const options = [
				"--noEmit",
				"--strict",
				"--module",
				module,
				"--moduleResolution",
				resolution,
				"--target",
				"es2022",
			];
			// The declarations name Buffer and AbortSignal, which the types of Node or of Bun bring.
			options.push("--lib", "es2023,esnext.disposable", "--typeRoots", path.join(root, "node_modules/@types"));
			run(bin("tsc"), [...options, "--types", "node", "use.ts"]);
		}
	});

	describe("u11: under a test runner", () => {
		const smoke = path.join(root, "test", "package", "smoke.cjs");
		const CASES = Object.keys(createRequire(import.meta.url)(smoke).cases);
		const ESM = `import * as leaflog from "leaflog";
			import { cases } from "./smoke.cjs";
			for (const [name, run] of Object.entries(cases)) test(name, () => run(leaflog));`;
		/** Runs it, and sees that each test was run and passed. */
		const passes = (command, args, reported) => {
			// Neither in color, nor as a part of the suite that runs here.
			const own = { NO_COLOR: "1", PI_CODING_AGENT_DIR: path.join(dir, "agent") };
			const { FORCE_COLOR: _, NODE_TEST_CONTEXT: __, ...env } = { ...process.env, ...own };
			const { status, stdout, stderr } = spawnSync(command, args, { cwd: app, encoding: "utf8", env });
			assert.equal(status, 0, stdout + stderr);
			assert.match(stdout + stderr, reported);
		};
		before(() => {
			fs.copyFileSync(smoke, path.join(app, "smoke.cjs"));
			put("node.mjs", `import test from "node:test";\n${ESM}`);
			put("bun.test.mjs", ESM);
			put("vitest.spec.mjs", ESM);
			put(
				"jest.spec.cjs",
				`const leaflog = require("leaflog");
				const { cases } = require("./smoke.cjs");
				for (const [name, run] of Object.entries(cases)) test(name, () => run(leaflog));`,
			);
		});

		test("node:test", () => {
			const all = new RegExp(`^# pass ${CASES.length}$`, "m");
			passes(process.execPath, ["--test", "--test-reporter=tap", "node.mjs"], all);
		});

		test("Bun", () => passes(bun, ["test", "./bun.test.mjs"], new RegExp(`^ *${CASES.length} pass$`, "m")));

		test("Jest", () => {
			const where = ["--rootDir", app, "--testMatch", "**/jest.spec.cjs", "--cacheDirectory", path.join(dir, "jest")];
			passes(
				process.execPath,
				[bin("jest"), ...where, "--runInBand"],
				new RegExp(`^Tests: +${CASES.length} passed`, "m"),
			);
		});

		for (const pool of ["threads", "forks", "vmThreads", "vmForks"]) {
			test(`vitest, ${pool}`, () => {
				const options = ["run", "--root", app, "--globals", "--pool", pool, "vitest.spec.mjs"];
				passes(process.execPath, [vitest, ...options], new RegExp(`Tests +${CASES.length} passed`));
			});
		}
	});

	test("says what is wrong with its native part", () => {
		const native = path.join(app, "node_modules", "@leaflog");
		const [name] = fs.readdirSync(native);
		const addon = path.join(native, name, "leaflog.node");
		const says = (before = "") => {
			const program = `${before}; try { require("leaflog"); } catch (e) { console.log(e.code, e.message); }`;
			return run(process.execPath, ["-e", program]);
		};
		fs.renameSync(addon, `${addon}.away`);
		try {
			assert.match(says(), /^MODULE_NOT_FOUND leaflog has no native part for \S+ installed: .* optional dependency/);
			fs.writeFileSync(addon, "not an addon");
			assert.match(says(), /^ERR_DLOPEN_FAILED leaflog cannot load its native part for \S+: .*leaflog\.node/);
		} finally {
			fs.renameSync(`${addon}.away`, addon);
		}
		assert.equal(
			says('Object.defineProperty(process, "platform", { value: "aix" })'),
			`ERR_FEATURE_UNAVAILABLE_ON_PLATFORM leaflog does not run on aix-${process.arch}\n`,
		);
	});

	test("inside a program that Bun compiled", () => {
		put("main.ts", `import { CURRENT_SESSION_VERSION, SessionManager } from "leaflog";${USE}`);
		run(bun, ["build", "--compile", "main.ts", "--outfile", path.join(dir, "program")]);
		const alone = path.join(dir, "alone");
		fs.mkdirSync(alone);
		fs.renameSync(path.join(dir, "program"), path.join(alone, "program"));
		fs.renameSync(path.join(app, "node_modules"), path.join(app, "gone"));
		try {
			// Bun puts the addon into the temporary directory, and leaves it there.
			const env = { ...process.env, TMPDIR: alone };
			assert.equal(execFileSync(path.join(alone, "program"), { cwd: alone, encoding: "utf8", env }), PRINTS);
		} finally {
			fs.renameSync(path.join(app, "gone"), path.join(app, "node_modules"));
		}
	});
});
