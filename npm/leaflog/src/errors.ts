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

	constructor(
		message: string,
		fields: { code: LeaflogErrorCode | (string & {}); path?: string; line?: number; cause?: unknown },
	) {
		super(message, fields.cause === undefined ? undefined : { cause: fields.cause });
		this.code = fields.code;
		if (fields.path !== undefined) this.path = fields.path;
		if (fields.line !== undefined) this.line = fields.line;
	}
}

interface Fields {
	code: LeaflogErrorCode;
	message: string;
	path: string | null;
	line: number | null;
	errno: number | null;
}

const MARK = "leaflog:";

/** The longest message that is taken over from elsewhere, in units. */
const LONGEST = 300;

/** The error that the exception of a native function stands for. */
export function convert(error: unknown, name: string): unknown {
	if (!(error instanceof Error) || error instanceof LeaflogError) return error;
	const known = fromReason(error.message);
	// It may quote an argument, however large that is.
	const message = error.message.length > LONGEST ? `${error.message.slice(0, LONGEST)}…` : error.message;
	return known ?? new LeaflogError(`${name}: ${message}`, { code: kindOf(error), cause: error });
}

/** The error in a native reason. */
export function fromReason(reason: string): LeaflogError | undefined {
	if (!reason.startsWith(MARK)) return undefined;
	const { code, message, path, line, errno } = JSON.parse(reason.slice(MARK.length)) as Fields;
	const cause = errno === null ? undefined : systemError(message, errno, path ?? undefined);
	return new LeaflogError(message, { code, path: path ?? undefined, line: line ?? undefined, cause });
}

function kindOf(error: Error): LeaflogErrorCode {
	const { code } = error as Error & { code?: string };
	// What Node-API says of an argument of another type; without a code, what an object among them threw.
	const isArgument = code === undefined || code === "InvalidArg" || code.endsWith("Expected");
	return isArgument ? "INVALID_ARGUMENT" : "INTERNAL";
}

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
	return new LeaflogError(message, { code, path, line, cause });
}

export function invalid(message: string): LeaflogError {
	return new LeaflogError(message, { code: "INVALID_ARGUMENT" });
}
