import { fromJson, toJson } from "./errors";
import { type Handle, native } from "./native";
import type { SessionEntry, SessionMessageEntry } from "./types";

/**
 * What objects were made to say of a replaced file: a manager that goes back to an earlier state holds
 * another text, and the object was not changed by anybody here all the same.
 */
const renewed = new WeakMap<SessionEntry, string>();

/** An object says what is stored, and did not before; `text` is what it says. */
export function setRenewed(entry: SessionEntry, text: string): void {
	renewed.set(entry, text);
}

/** What an object says is written: from then on it is its own. */
export function setWritten(entry: SessionEntry): void {
	renewed.delete(entry);
}

/** An object says what it was made to say last. */
export function isRenewed({ entry }: Placed): boolean {
	const text = renewed.get(entry);
	if (text === undefined) return false;
	try {
		return textOf(entry) === text;
	} catch {
		return false;
	}
}

/** An object and where its entry stands. */
export interface Placed {
	entry: SessionEntry;
	position: number;
	/** Its message is not here. */
	isLight: boolean;
}

/** The same, and where it stood in what was replaced. */
export interface Moved extends Placed {
	before: number;
}

/**
 * Entries, or messages, as native code gives them. One that stands in an array with a 1 may have been
 * an assistant's with a provider's history, which is not shown: the keys that were taken out of it are
 * there, with the value `undefined`, as they are in messages that were sanitized here.
 */
export function loaded<Value>(json: string): Value[] {
	const values = fromJson<unknown[]>(json);
	for (let at = 0; at < values.length; at++) {
		const value = values[at];
		if (!Array.isArray(value)) continue;
		const [inner, mark] = value as [Partial<SessionMessageEntry>, 1?];
		if (mark === 1) setAbsent(inner.type === "message" && "message" in inner ? inner.message : inner);
		values[at] = inner;
	}
	return values as Value[];
}

function setAbsent(given: unknown): void {
	const message = given as Record<string, unknown> | undefined;
	// Another payload than a history stays.
	if (message === undefined || "providerPayload" in message) return;
	message.providerPayload = undefined;
	if (!Array.isArray(message.content)) return;
	for (const block of message.content as (Record<string, unknown> | null)[]) {
		if (block?.type === "thinking" && !("thinkingSignature" in block)) block.thinkingSignature = undefined;
	}
}

/** What objects are asked. */
export type Question =
	/** Whether they were changed here. */
	| "changed"
	/** The same, of what was replaced, which may not be there any more. */
	| "changed before"
	/** Whether they say something else than what is stored. */
	| "stale";

/** Of the objects those of which it is so, in a session that has their entries at positions. */
export function differing<Object extends Placed>(
	handle: Handle,
	objects: Object[],
	positionOf: (object: Object) => number,
	question: Question,
): Object[] {
	const lights = objects.filter(({ isLight }) => isLight);
	const different = objects.filter(
		(object) => !object.isLight && isDifferent(handle, object, positionOf(object), question),
	);
	if (lights.length === 0) return different;
	const fields = JSON.parse(native.light(handle, new Uint32Array(lights.map(positionOf)), 0)) as unknown[];
	let at = 0;
	for (const object of lights) {
		const { entry } = object;
		const isSame = fields[at] !== 0 && isUsual(entry, fields.slice(at, at + 3));
		at += fields[at] === 0 ? 1 : 3;
		if (!isSame && isDifferent(handle, object, positionOf(object), question)) different.push(object);
	}
	return different;
}

function isUsual(entry: SessionEntry, [id, parentId, timestamp]: unknown[]): boolean {
	const isSame = entry.id === id && entry.parentId === parentId && entry.timestamp === timestamp;
	return isSame && entry.type === "message" && Object.keys(entry).length === 5;
}

function isDifferent(handle: Handle, { entry }: Placed, position: number, question: Question): boolean {
	const isBefore = question === "changed before";
	let text: string;
	try {
		text = textOf(entry);
	} catch (error) {
		// It is told when it is to be written.
		if (!isBefore) throw error;
		return true;
	}
	let difference: 0 | 1 | 2 = 1;
	let stored: unknown;
	try {
		difference = native.differs(handle, position, text, question !== "stale");
		if (difference === 0) return false;
		[stored] = loaded(native.texts(handle, Uint32Array.of(position), 0));
	} catch (error) {
		if (!isBefore) throw error;
	}
	// A file that was cut or edited in place has something else where an entry was: then what is stored now wins,
	// unless it is known that the object says something else than when it was given.
	if (isBefore && (stored as Partial<SessionEntry> | null | undefined)?.id !== entry.id) return difference === 2;
	// The stored text may say the same in another spelling.
	return JSON.stringify(stored) !== text;
}

function isObject(value: unknown): value is object {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Makes an object say what another says; not one that was frozen, sealed or has its own ideas. */
export function become(object: unknown, other: unknown): boolean {
	if (!isObject(object) || !isObject(other) || !Object.isExtensible(object)) return false;
	const keys = Object.keys(object);
	if (keys.some((key) => Object.getOwnPropertyDescriptor(object, key)?.configurable !== true)) return false;
	for (const key of keys) Reflect.deleteProperty(object, key);
	for (const [key, value] of Object.entries(other)) {
		const plain = { __proto__: null, value, writable: true, enumerable: true, configurable: true };
		if (!Reflect.defineProperty(object, key, plain as PropertyDescriptor)) return false;
	}
	return true;
}

/** The text of an entry that may have been changed in place. */
export function textOf(entry: SessionEntry): string {
	return toJson(entry, `Entry ${entry.id} was changed in place and`);
}
