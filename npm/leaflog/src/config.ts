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
	/**
	 * How long another process's lock is waited for, in milliseconds. By default 10 seconds where a promise
	 * is given or a session is closed, and 100 ms in an append, which the engine waits for: then it is an error
	 * of the code `LOCKED`, and the entry goes out with the next append or `flush()`. A number holds for both.
	 */
	lockTimeoutMs?: number;
	/** Where ids and times come from, for tests: else from the clock of the machine and random numbers. */
	generator?: SequenceGenerator;
	logger?: Logger;
}

/** Without a prototype: what somebody adds to that of all objects is no option. */
let defaults: LeaflogOptions = Object.create(null);

/** Sets the process's defaults. A key that is absent keeps its value, `undefined` takes it back. */
export function configure(options: LeaflogOptions): void {
	check(options);
	defaults = over(options);
}

function check(options: LeaflogOptions): void {
	const wrong = (what: string, value: unknown) => invalid(`${what}, not ${shown(value)}`);
	if (typeof options !== "object" || options === null) throw wrong("options are an object", options);
	const one = (key: keyof LeaflogOptions, is: (value: unknown) => boolean, what: string) => {
		const value = options[key] ?? undefined;
		if (value !== undefined && !is(value)) throw wrong(`${key} is ${what}`, value);
	};
	const oneOf = (key: keyof LeaflogOptions, ...values: unknown[]) =>
		one(key, (value) => values.includes(value), `one of ${values.join(", ")}`);
	one("agentDir", (value) => typeof value === "string", "a path");
	one("configDirName", (value) => typeof value === "string", "a name");
	oneOf("dirNaming", "absolute", "home-relative");
	oneOf("migrationRewrite", "immediate", "deferred");
	oneOf("durability", "flush", "every-append");
	one("lockTimeoutMs", (value) => typeof value === "number" && value >= 0, "a number of milliseconds");
	one("generator", (value) => value instanceof SequenceGenerator, "a SequenceGenerator");
	one("logger", (value) => typeof (value as Logger).error === "function", "an object with the method error");
}

function shown(value: unknown): string {
	return typeof value === "string" || typeof value === "number"
		? String(value)
		: value === null
			? "null"
			: typeof value;
}

/** A count as native code takes it: whole, and from 0 to `most`. */
export function count(value: number, most = 0xffffffff): number {
	const whole = Math.floor(Number(value));
	return whole > 0 ? Math.min(whole, most) : 0;
}

/** The options in force: the process's, with those given on top. */
export function effective(given: LeaflogOptions | undefined): LeaflogOptions {
	if (given === undefined) return defaults;
	check(given);
	return over(given);
}

function over(given: LeaflogOptions): LeaflogOptions {
	return Object.assign(Object.create(null), defaults, given);
}

/** The names of what folders and the terminal are found by. */
const VARIABLES = native.environmentVariables();

/**
 * The options as native code takes them. The environment is read now and handed over: a change of
 * `process.env` does not reach native code in every engine.
 */
export function nativeOptions(options: LeaflogOptions, sessionDir: string | undefined): NativeOptions {
	// Without a prototype: native code takes what an object inherits for its own.
	const env: Record<string, string> = Object.create(null);
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
