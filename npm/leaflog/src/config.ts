import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { invalid } from "./errors";
import type { NativeOptions } from "./native";

/** Is told of failures of writing, once each. */
export interface Logger {
	error(message: string, details?: Record<string, unknown>): void;
	warn?(message: string, details?: Record<string, unknown>): void;
}

export interface LeaflogOptions {
	/** The agent's folder, which holds `sessions` and `blobs`. */
	agentDir?: string;
	/** The name of the config folder under home: `.xcsh` when neither this nor `PI_CONFIG_DIR` is set. */
	configDirName?: string;
	/** How folders of projects are named. */
	dirNaming?: "absolute" | "home-relative";
	/** When a file of an older version is written anew: when it is opened, or with the next change. */
	migrationRewrite?: "immediate" | "deferred";
	/** When bytes are made to survive a power cut: with `flush()`, or before every append returns. */
	durability?: "flush" | "every-append";
	/** How long another process's lock is waited for, in milliseconds. */
	lockTimeoutMs?: number;
	logger?: Logger;
}

let defaults: LeaflogOptions = {};

/** Sets the process's defaults. A key that is absent keeps its value, `undefined` takes it back. */
export function configure(options: LeaflogOptions): void {
	check(options);
	defaults = { ...defaults, ...options };
}

function check(options: LeaflogOptions): void {
	const one = (key: keyof LeaflogOptions, values: string[]) => {
		const value = options[key];
		if (value !== undefined && !values.includes(value as string)) {
			throw invalid(`${key} is one of ${values.join(", ")}, not ${String(value)}`);
		}
	};
	one("dirNaming", ["absolute", "home-relative"]);
	one("migrationRewrite", ["immediate", "deferred"]);
	one("durability", ["flush", "every-append"]);
	const { lockTimeoutMs } = options;
	if (lockTimeoutMs !== undefined && !(lockTimeoutMs >= 0)) {
		throw invalid(`lockTimeoutMs is a number of milliseconds, not ${lockTimeoutMs}`);
	}
}

/** The options in force: the process's, with those given on top. */
export function effective(given: LeaflogOptions | undefined): LeaflogOptions {
	if (given === undefined) return defaults;
	check(given);
	return { ...defaults, ...given };
}

/**
 * The folder of sessions and blobs. The environment is read when this is called, and its values
 * are passed on: a change of `process.env` does not reach native code in every engine.
 */
export function dataDir(options: LeaflogOptions): string {
	const given = options.agentDir || process.env.PI_CODING_AGENT_DIR;
	if (given) return path.resolve(given);
	const xdg = process.env.XDG_DATA_HOME;
	if (xdg && (process.platform === "linux" || process.platform === "darwin")) {
		const dir = path.join(xdg, "xcsh");
		if (fs.existsSync(dir)) return dir;
	}
	const config = options.configDirName || process.env.PI_CONFIG_DIR || ".xcsh";
	return path.join(os.homedir(), config, "agent");
}

export function blobsDir(options: LeaflogOptions): string {
	return path.join(dataDir(options), "blobs");
}

export function nativeOptions(options: LeaflogOptions, sessionDir: string | undefined): NativeOptions {
	return {
		agentDir: dataDir(options),
		sessionDir,
		lockTimeoutMs: options.lockTimeoutMs,
		syncAppends: options.durability === "every-append",
		deferredMigration: options.migrationRewrite === "deferred",
	};
}
