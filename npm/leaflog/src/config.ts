import { invalid } from "./errors";
import { type NativeOptions, native, type SequenceHandle } from "./native";

/** Is told of failures of writing, once each. */
export interface Logger {
	error(message: string, details?: Record<string, unknown>): void;
	warn?(message: string, details?: Record<string, unknown>): void;
}

/**
 * Ids and times that are known beforehand, for tests: the same calls make the same files.
 *
 * Its one state is a clock, which moves on with each id it gives and stands still otherwise. The id of an entry is the
 * lowest 32 bits of the milliseconds of its timestamp, in hex. Ids that one generator gives never meet; two that begin
 * at the same moment give the same ids. So share one among all that goes on with the same sessions.
 */
export class SequenceGenerator {
	readonly #handle: SequenceHandle;

	/** A clock that stands at `start` and moves on by `stepMs` milliseconds, at least 1, with each id. */
	constructor(start: Date | number, stepMs = 1) {
		const startMs = Number(start);
		if (!Number.isSafeInteger(startMs)) throw invalid(`start is a date or whole milliseconds, not ${String(start)}`);
		if (!Number.isInteger(stepMs) || stepMs < 1 || stepMs > 0xffffffff) {
			throw invalid(`stepMs is a whole number of milliseconds from 1, not ${String(stepMs)}`);
		}
		this.#handle = native.sequenceNew(startMs, stepMs);
	}

	/** @internal */
	static handleOf(generator: SequenceGenerator): SequenceHandle {
		return generator.#handle;
	}
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
	/** Where ids and times come from, for tests: else from the clock of the machine and random numbers. */
	generator?: SequenceGenerator;
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
	const { lockTimeoutMs, generator } = options;
	if (generator !== undefined && !(generator instanceof SequenceGenerator)) {
		throw invalid("generator is a SequenceGenerator");
	}
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

/** What folders and the terminal are found by. */
const VARIABLES = [
	"HOME",
	"USERPROFILE",
	"TMPDIR",
	"TMP",
	"TEMP",
	"PI_CODING_AGENT_DIR",
	"PI_CONFIG_DIR",
	"XDG_DATA_HOME",
	"XDG_STATE_HOME",
	"KITTY_WINDOW_ID",
	"TMUX_PANE",
	"TERM_SESSION_ID",
	"WT_SESSION",
];

/**
 * The options as native code takes them. The environment is read now and handed over: a change of
 * `process.env` does not reach native code in every engine.
 */
export function nativeOptions(options: LeaflogOptions, sessionDir: string | undefined): NativeOptions {
	const env: Record<string, string> = {};
	for (const name of VARIABLES) {
		const value = process.env[name];
		if (value) env[name] = value;
	}
	return {
		env,
		agentDir: options.agentDir || undefined,
		configDirName: options.configDirName || undefined,
		homeRelative: options.dirNaming === "home-relative",
		sessionDir,
		lockTimeoutMs: options.lockTimeoutMs,
		syncAppends: options.durability === "every-append",
		deferredMigration: options.migrationRewrite === "deferred",
		generator: options.generator && SequenceGenerator.handleOf(options.generator),
	};
}
