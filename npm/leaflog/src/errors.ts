import * as os from "node:os";

/** The kinds of errors. Names are stable. */
export type LeaflogErrorCode =
	| "NOT_FOUND"
	| "IS_A_DIRECTORY"
	| "PERMISSION_DENIED"
	| "NOT_A_SESSION"
	| "ENTRY_NOT_FOUND"
	| "FILE_CHANGED"
	| "AMBIGUOUS"
	| "INVALID_ARGUMENT"
	| "IO"
	| "LOCKED"
	| "CLOSED"
	| "ALREADY_EXISTS"
	| "GONE"
	| "INTERNAL";

/** What went wrong, where, and because of what. */
export class LeaflogError extends Error {
	override readonly name = "LeaflogError";
	/** The kind. Methods of storages give the system's name instead, as `node:fs` does: `ENOENT`. */
	readonly code: LeaflogErrorCode | (string & {});
	/** The file or folder it is about. */
	declare readonly path?: string;
	/** The line of the file, counted from 1. */
	declare readonly line?: number;
	/**
	 * Of a failed append: the id of the entry, which is in memory and is the leaf, but not in the file. The
	 * next append or `flush()` carries it after `LOCKED`, `ensureOnDisk()` after any other failure: do not
	 * append it again. Absent when nothing was appended.
	 */
	declare readonly entryId?: string;

	constructor(
		message: string,
		fields: {
			code: LeaflogErrorCode | (string & {});
			path?: string;
			line?: number;
			entryId?: string;
			cause?: unknown;
		},
	) {
		super(message, fields.cause === undefined ? undefined : { cause: fields.cause });
		this.code = fields.code;
		if (fields.path !== undefined) this.path = fields.path;
		if (fields.entryId !== undefined) this.entryId = fields.entryId;
		// In Bun every error has the line of the program that made it, which is not that of the file.
		Object.assign(this, { line: fields.line });
		if (fields.line === undefined) Reflect.deleteProperty(this, "line");
	}
}

interface Fields {
	code: LeaflogErrorCode;
	/** What happened, with the place. */
	message: string;
	/** The same without the place. */
	words: string;
	path: string | null;
	line: number | null;
	errno: number | null;
	entryId: string | null;
}

const MARK = "leaflog:";

/** The messages of native errors without the place. */
const withoutPlace = new WeakMap<LeaflogError, string>();

/** The longest message that is taken over from elsewhere, in units. */
const LONGEST = 300;

/**
 * What was thrown is an error, of whichever realm: in Jest, and in other runners that give each test file
 * globals of its own, the errors of native code are not instances of the `Error` that this file sees.
 */
export function isError(thrown: unknown): thrown is Error {
	try {
		return typeof (thrown as Partial<Error> | null | undefined)?.message === "string";
	} catch {
		// A proxy or an accessor.
		return false;
	}
}

/** What was thrown, in words. */
export function why(thrown: unknown): string {
	try {
		return isError(thrown) ? thrown.message : String(thrown);
	} catch {
		return "something that cannot be shown was thrown";
	}
}

/** The error that the exception of a native function stands for. */
export function convert(thrown: unknown, name: string): LeaflogError {
	if (thrown instanceof LeaflogError) return thrown;
	// An accessor among the arguments may throw anything.
	const error = isError(thrown) ? thrown : new Error(why(thrown), { cause: thrown });
	return fromReason(error.message) ?? wrongType(error) ?? other(error, name);
}

/** The error in a native reason. */
export function fromReason(reason: string): LeaflogError | undefined {
	if (!reason.startsWith(MARK)) return undefined;
	const { code, message, words, path, line, errno, entryId } = JSON.parse(reason.slice(MARK.length)) as Fields;
	const cause = errno === null ? undefined : systemError(words, errno, path ?? undefined);
	const error = new LeaflogError(message, {
		code,
		path: path ?? undefined,
		line: line ?? undefined,
		entryId: entryId ?? undefined,
		cause,
	});
	withoutPlace.set(error, words);
	return error;
}

/** What neither this package nor Node-API has words for: what an object among the arguments threw has no code. */
function other(error: Error, name: string): LeaflogError {
	const { message, code } = error as Error & { code?: string };
	// It may quote an argument, however large that is.
	const text = message.length > LONGEST ? `${message.slice(0, LONGEST)}…` : message;
	const isArgument = code === undefined || code === "InvalidArg" || code.endsWith("Expected");
	return new LeaflogError(`${name}: ${text}`, { code: isArgument ? "INVALID_ARGUMENT" : "INTERNAL", cause: error });
}

/** What Node-API says of an argument of another type, in words of JavaScript. */
function wrongType(error: Error): LeaflogError | undefined {
	const { message, code } = error as Error & { code?: string };
	const expected = message.startsWith("Get TypedArray info") ? "a Uint8Array" : EXPECTED[code ?? ""];
	if (expected === undefined) return undefined;
	const given = /JavaScript value `(\w+)/.exec(message)?.[1]?.toLowerCase();
	const field = / on \w+\.(\w+)$/.exec(message)?.[1];
	const text = `${field === undefined ? "" : `${field}: `}${expected} is expected${given === undefined ? "" : `, not ${given}`}`;
	return new LeaflogError(text, { code: "INVALID_ARGUMENT", cause: error });
}

const EXPECTED: Record<string, string> = {
	StringExpected: "a string",
	NumberExpected: "a number",
	BooleanExpected: "true or false",
	ObjectExpected: "an object",
	ArrayExpected: "an array",
};

function systemError(message: string, errno: number, path: string | undefined): Error {
	return Object.assign(new Error(message), { errno: -errno, code: systemName(errno), path });
}

let names: Map<number, string> | undefined;

function systemName(errno: number): string {
	names ??= new Map(Object.entries(os.constants.errno).map(([name, number]) => [number, name]));
	return names.get(errno) ?? `E${errno}`;
}

/** The same error with the system's name as its code: what callers of storages look for. */
export function asSystemError(error: unknown): unknown {
	if (!(error instanceof LeaflogError)) return error;
	const { message, path, line, cause } = error;
	const { errno, code: name } = (cause ?? {}) as { errno?: number; code?: string };
	const system = errno === undefined ? undefined : name;
	const code = system ?? (error.code === "NOT_FOUND" ? "ENOENT" : error.code);
	// What is no failure of the system is said in the words that callers of storages know.
	const words = system === undefined ? withoutPlace.get(error) : undefined;
	return new LeaflogError(words ?? message, { code, path, line, cause });
}

export function invalid(message: string, cause?: unknown): LeaflogError {
	return new LeaflogError(message, { code: "INVALID_ARGUMENT", cause });
}

/** The JSON text of a value. What `JSON.stringify` refuses, a cycle or a BigInt, is an error of this package. */
export function toJson(value: unknown, subject = kindOf(value)): string {
	let text: string | undefined;
	try {
		text = JSON.stringify(value);
	} catch (error) {
		throw invalid(`${subject} cannot be written as JSON: ${why(error)}`, error);
	}
	if (text === undefined) throw invalid(`${subject} cannot be written as JSON`);
	return text;
}

function kindOf(value: unknown): string {
	if (value === undefined) return "undefined";
	return typeof value === "object" ? "the value" : `a ${typeof value}`;
}

/** The value of JSON text out of a session's file, which another program may have changed in place since. */
export function fromJson<Value>(text: string): Value {
	try {
		return JSON.parse(text) as Value;
	} catch (cause) {
		throw new LeaflogError("the file holds something else than was read from it", { code: "FILE_CHANGED", cause });
	}
}
