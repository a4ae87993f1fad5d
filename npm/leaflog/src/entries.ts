import {
	become,
	differing,
	isRenewed,
	loaded,
	type Moved,
	type Placed,
	setRenewed,
	setWritten,
	textOf,
} from "./changes";
import { LeaflogError } from "./errors";
import { type Handle, native } from "./native";
import type { AgentMessage, CompactionEntry, SessionContext, SessionEntry, SessionMessageEntry } from "./types";

/** The fields an entry was given with: it has the very objects among them. */
type Given = Record<string, unknown>;

/** Where native code puts a stamp, and the same as bytes. */
const scratch = new Float64Array(2);
const scratchBytes = Buffer.from(scratch.buffer);

/** The generation of a session's entries, and how many there are: at one moment, whatever another thread does. */
function stampOf(handle: Handle): [generation: number, count: number] {
	native.stamp(handle, scratchBytes);
	return [scratch[0] as number, scratch[1] as number];
}

/** How far ahead a group of messages is asked for; native code ends it by size. */
const AHEAD = 256;

/** What gives a message of a context, other than a message itself. */
export const Kinds = { CUSTOM: 1, BRANCH_SUMMARY: 2, COMPACTION: 3, REMOTE_COMPACTION: 4 } as const;

/** An item of a plan is its entry's position plus its kind times this; a message's kind is 0. */
const KIND = 2 ** 32;

export interface ContextPlan {
	state: SessionContext;
	items: number[];
}

/** The position and, for what is no message itself, the kind of a plan's item. */
export function itemOf(item: number): [position: number, kind: number] {
	return [item % KIND, Math.floor(item / KIND)];
}

/** Builds the message of an entry that is none itself. */
export type MessageBuilder = (kind: number, entry: SessionEntry) => AgentMessage;

/** The objects of a session at a moment. */
export interface CapturedEntries {
	readonly generation: number;
	readonly list: (SessionEntry | undefined)[];
	readonly messages: (AgentMessage | undefined)[];
	readonly untouched: Uint8Array;
	readonly filled: number;
}

/**
 * The entries of one session as objects. An entry handed out is the same object each time, and so
 * is its message. Objects are made when somebody asks; a message is parsed at its first touch,
 * together with those that follow it.
 */
export class Entries {
	#handle: Handle;
	#generation = -1;
	#count = 0;
	/** By position; an entry that nobody asked for is absent. */
	#list: (SessionEntry | undefined)[] = [];
	/** By position: messages that were parsed or given. */
	#messages: (AgentMessage | undefined)[] = [];
	/** By position: 1 for an entry whose message is still an accessor. */
	#untouched = new Uint8Array(0);
	/** Every position before this is in the list. */
	#filled = 0;
	/** By id: appended entries nobody asked for yet. */
	#given = new Map<string, Given>();
	/** By id: messages that were appended, of entries nobody asked for yet. */
	#appended = new Map<string, AgentMessage>();
	/** The accessor of messages. All entries share it: engines then give them one shape. */
	readonly #accessor: PropertyDescriptor;

	constructor(handle: Handle) {
		this.#handle = handle;
		const entries = this;
		this.#accessor = {
			__proto__: null,
			get() {
				return entries.#touch(this as SessionMessageEntry);
			},
			set(message) {
				entries.#assign(this as SessionMessageEntry, message);
			},
			enumerable: true,
			configurable: true,
		} as PropertyDescriptor;
	}

	/** The entry `id` was appended with these fields. */
	give(id: string, fields: Given): void {
		this.#given.set(id, fields);
	}

	/** The entry `id` was appended with this message. */
	giveMessage(id: string, message: AgentMessage): void {
		this.#appended.set(id, message);
	}

	/** All entries, in a fresh array. */
	all(): SessionEntry[] {
		this.#sync();
		if (this.#filled < this.#count) {
			this.#make(undefined, this.#filled);
			this.#filled = this.#count;
		}
		return this.#list.slice() as SessionEntry[];
	}

	/** The entry of an id. */
	get(id: string): SessionEntry | undefined {
		this.#sync();
		return this.#at(native.find(this.#handle, id));
	}

	leaf(): SessionEntry | undefined {
		this.#sync();
		return this.#at(native.leaf(this.#handle));
	}

	/** The entries of positions that native code gave as JSON. */
	many(positions: number[]): SessionEntry[] {
		this.#sync();
		const missing = positions.filter((position) => this.#list[position] === undefined);
		if (missing.length > 0) this.#make(new Uint32Array(missing), 0);
		return positions.map((position) => this.#list[position] as SessionEntry);
	}

	#at(position: number): SessionEntry | undefined {
		if (position < 0) return undefined;
		if (this.#list[position] === undefined) this.#make(Uint32Array.of(position), 0);
		return this.#list[position];
	}

	/** Looks at what native code has now. */
	#sync(): void {
		const [generation, count] = stampOf(this.#handle);
		if (generation !== this.#generation && this.#generation >= 0) this.#move(generation, count);
		else {
			this.#generation = generation;
			this.#grow(count);
		}
		if (this.#given.size === 0 && this.#appended.size === 0) return;
		this.#settle();
		this.#given.clear();
		this.#appended.clear();
	}

	/** Another process replaced the file: the same entries stand at other positions, and may say something else (R53d). */
	#move(generation: number, count: number): void {
		const now = this.#handle;
		const replaced = native.takeReplaced(now);
		const [replacedGeneration, replacedCount] = replaced === null ? [-1, 0] : stampOf(replaced);
		const isKnown = replaced !== null && replacedGeneration === this.#generation;
		if (isKnown) {
			this.#handle = replaced;
			try {
				// What was given or handed out of it is to be compared with it.
				this.#grow(replacedCount);
				this.#settle();
				this.#completeMessages();
			} catch {
				// The file was cut in place.
			} finally {
				this.#handle = now;
			}
		}
		const before = this.#clear();
		this.#generation = generation;
		this.#grow(count);
		const moved = this.#take(before, isKnown ? replaced : undefined);
		if (isKnown) this.#refresh(moved, replaced);
	}

	/** Makes the entries that were appended since. */
	#settle(): void {
		const positions: number[] = [];
		const settled: string[] = [];
		for (const ids of [this.#given.keys(), this.#appended.keys()]) {
			for (const id of ids) {
				const position = native.find(this.#handle, id);
				if (position < 0) continue;
				settled.push(id);
				if (this.#list[position] === undefined) positions.push(position);
			}
		}
		if (positions.length > 0) this.#make(new Uint32Array(positions), 0);
		for (const id of settled) {
			this.#given.delete(id);
			this.#appended.delete(id);
		}
	}

	/**
	 * Lets objects that nobody changed say what is stored now. One that was changed says something else
	 * than the text it was handed out of, in what was replaced; it stays, and is written with the next
	 * rewrite.
	 */
	#refresh(moved: Moved[], replaced: Handle): void {
		const different = new Set(differing(replaced, moved, ({ before }) => before, "changed before"));
		const unchanged = moved.filter((object) => !different.has(object) || isRenewed(object));
		const stale = differing(this.#handle, unchanged, ({ position }) => position, "stale");
		const positions = stale.map(({ position }) => position);
		this.#parse<SessionEntry>(native.texts, positions, (position, stored) => this.#renew(position, stored));
	}

	/** The entry at a position is to say what is stored. When it cannot, another object takes its place. */
	#renew(position: number, stored: SessionEntry): void {
		const entry = this.#list[position] as SessionEntry;
		const text = JSON.stringify(stored);
		const message =
			this.#untouched[position] === 1 ? this.#messages[position] : (entry as Partial<SessionMessageEntry>).message;
		if (stored.type === "message" && become(message, stored.message)) stored.message = message as AgentMessage;
		const isSame = become(entry, stored) && JSON.stringify(entry) === text;
		if (isSame) setRenewed(entry, text);
		this.#list[position] = isSame ? entry : undefined;
		this.#messages[position] = isSame && stored.type === "message" ? stored.message : undefined;
		this.#untouched[position] = 0;
	}

	/** Makes room for so many entries. Not with holes: those are looked up in `Array.prototype`. */
	#grow(count: number): void {
		while (this.#list.length < count) {
			this.#list.push(undefined);
			this.#messages.push(undefined);
		}
		if (this.#untouched.length < count) {
			const untouched = new Uint8Array(count + (count >> 1));
			untouched.set(this.#untouched);
			this.#untouched = untouched;
		}
		this.#count = count;
	}

	/** Gives all objects away. */
	#clear(): Pick<CapturedEntries, "list" | "messages" | "untouched"> {
		const before = { list: this.#list, messages: this.#messages, untouched: this.#untouched };
		[this.#list, this.#messages, this.#untouched, this.#filled] = [[], [], new Uint8Array(0), 0];
		return before;
	}

	/**
	 * Takes over objects, each to where its id stands now: of several lines of an id that is the last, of
	 * those in `replaced` too.
	 */
	#take(
		{ list, messages, untouched }: Pick<CapturedEntries, "list" | "messages" | "untouched">,
		replaced?: Handle,
	): Moved[] {
		const moved: Moved[] = [];
		for (let before = list.length - 1; before >= 0; before--) {
			const entry = list[before];
			if (entry === undefined || typeof entry.id !== "string") continue;
			const position = native.find(this.#handle, entry.id);
			if (position < 0 || this.#list[position] !== undefined) continue;
			if (replaced !== undefined && native.find(replaced, entry.id) !== before) continue;
			this.#list[position] = entry;
			this.#messages[position] = messages[before];
			this.#adopt(position, entry, untouched[before] === 1);
			moved.push({ entry, before, position, isLight: this.#isLight(position) });
		}
		return moved;
	}

	/** Nobody has the message of the entry at a position: neither from it, nor by way of a context. */
	#isLight(position: number): boolean {
		return this.#untouched[position] === 1 && this.#messages[position] === undefined;
	}

	/** An entry's message is read from here when it is touched. */
	#adopt(position: number, entry: SessionEntry, wasUntouched: boolean): void {
		const isUntouched = wasUntouched && hasAccessor(entry) && Reflect.defineProperty(entry, "message", this.#accessor);
		this.#untouched[position] = isUntouched ? 1 : 0;
	}

	/** Makes the entries at positions, or all from `from` on. */
	#make(positions: Uint32Array | undefined, from: number): void {
		const fields = JSON.parse(native.light(this.#handle, positions, from)) as (string | null | 0)[];
		const [list, messages, untouched, appended] = [this.#list, this.#messages, this.#untouched, this.#appended];
		const [accessor, define] = [this.#accessor, Object.defineProperty];
		const read: number[] = [];
		for (let at = 0, next = 0; at < fields.length; next++) {
			const position = positions === undefined ? from + next : (positions[next] as number);
			const id = fields[at] as string | 0;
			if (id === 0) {
				at++;
				if (list[position] === undefined) read.push(position);
				continue;
			}
			const parentId = fields[at + 1] as string | null;
			const timestamp = fields[at + 2] as string;
			at += 3;
			if (list[position] !== undefined) continue;
			const entry = { type: "message", id, parentId, timestamp } as SessionMessageEntry;
			const message = appended.get(id) ?? messages[position];
			if (message === undefined) {
				// What is enumerable and its own passes for a plain property everywhere.
				define(entry, "message", accessor);
				untouched[position] = 1;
			} else {
				messages[position] = message;
				entry.message = message;
			}
			list[position] = entry;
		}
		this.#read(read);
	}

	/** Parses whole entries. */
	#read(positions: number[]): void {
		this.#parse<SessionEntry>(native.texts, positions, (position, entry) => {
			giveObjects(entry, this.#given.get(entry.id));
			const message = this.#appended.get(entry.id) ?? this.#messages[position];
			if (entry.type === "message" && message !== undefined) entry.message = message;
			this.#list[position] = entry;
		});
	}

	/** Parses what native code gives for positions, in groups. */
	#parse<Value>(
		ask: (handle: Handle, positions: Uint32Array, start: number) => string,
		positions: number[],
		take: (position: number, value: Value) => void,
	): void {
		const asked = new Uint32Array(positions);
		for (let start = 0; start < positions.length; ) {
			const group = loaded<Value>(ask(this.#handle, asked, start));
			for (const value of group) take(positions[start++] as number, value);
		}
	}

	/** The message of an entry that is touched; it becomes a plain property. */
	#touch(entry: SessionMessageEntry): AgentMessage {
		const position = this.#positionOf(entry);
		if (this.#messages[position] === undefined) {
			const positions = [position];
			for (let next = position + 1; positions.length < AHEAD && this.#untouched[next] === 1; next++) {
				if (this.#messages[next] === undefined) positions.push(next);
			}
			const group = loaded<AgentMessage>(native.messages(this.#handle, new Uint32Array(positions), 0));
			group.forEach((message, at) => {
				this.#messages[positions[at] as number] = message;
			});
		}
		const message = this.#messages[position] as AgentMessage;
		// Something that inherits from the entry may have been asked.
		if (this.#list[position] === entry) this.#makePlain(entry, position, message);
		return message;
	}

	#assign(entry: SessionMessageEntry, message: AgentMessage): void {
		const position = this.#positionOf(entry);
		if (this.#makePlain(entry, position, message)) return;
		// Its property stays as it is: the entry was sealed, or frozen as a whole.
		if (Object.isFrozen(entry)) throw new TypeError("Cannot assign to read only property 'message' of object");
		this.#messages[position] = message;
	}

	#makePlain(entry: SessionMessageEntry, position: number, value: unknown): boolean {
		const plain = { __proto__: null, value, writable: true, enumerable: true, configurable: true };
		if (!Reflect.defineProperty(entry, "message", plain)) return false;
		if (this.#list[position] === entry) this.#untouched[position] = 0;
		return true;
	}

	#positionOf(entry: SessionMessageEntry): number {
		const found = native.find(this.#handle, entry.id);
		if (this.#list[found] === entry) return found;
		// Its id was changed in place, or this only inherits from an entry.
		const position = this.#list.indexOf(entry);
		if (position >= 0) return position;
		if (found >= 0) return found;
		throw new LeaflogError(`Entry ${entry.id} is not in the session any more`, { code: "ENTRY_NOT_FOUND" });
	}

	/** The messages of a context, of which those of entries are the entries' own. */
	context(plan: ContextPlan, build: MessageBuilder): SessionContext {
		this.#sync();
		const [list, messages, untouched] = [this.#list, this.#messages, this.#untouched];
		const { items, state } = plan;
		const missing: number[] = [];
		const others: number[] = [];
		// Plain loops: this runs once for each message that is sent, often in code that is not hot yet.
		for (let at = 0; at < items.length; at++) {
			const item = items[at] as number;
			if (item >= KIND) others.push(item % KIND);
			else if (messages[item] === undefined && (list[item] === undefined || untouched[item] === 1)) missing.push(item);
		}
		const asked = new Uint32Array(missing);
		for (let start = 0; start < missing.length; ) {
			const group = loaded<AgentMessage>(native.messages(this.#handle, asked, start));
			for (let at = 0; at < group.length; at++) messages[missing[start + at] as number] = group[at];
			start += group.length;
		}
		if (others.length > 0) this.many(others);
		const sent = state.messages;
		for (let at = 0; at < items.length; at++) {
			const item = items[at] as number;
			const entry = list[item % KIND];
			if (item >= KIND) sent.push(build(Math.floor(item / KIND), entry as SessionEntry));
			else if (entry === undefined || untouched[item] === 1) sent.push(messages[item] as AgentMessage);
			else sent.push((entry as SessionMessageEntry).message);
		}
		return state;
	}

	/** The entries whose message is an object here already. */
	*touched(): Generator<SessionEntry> {
		this.#sync();
		this.#completeMessages();
		for (const [position, entry] of this.#list.entries()) {
			if (entry !== undefined && this.#untouched[position] !== 1) yield entry;
		}
	}

	/** Makes the entries of messages that were handed out in a context. */
	#completeMessages(): void {
		for (const [position, message] of this.#messages.entries()) {
			if (message !== undefined && this.#list[position] === undefined) this.#at(position);
		}
	}

	/**
	 * Hands native code the texts of the objects that were changed in place since they were handed
	 * out or given: whatever is written next as a whole has them.
	 */
	writeChanges(): void {
		this.#sync();
		this.#completeMessages();
		const objects: Placed[] = [];
		for (const [position, entry] of this.#list.entries()) {
			if (entry !== undefined) objects.push({ entry, position, isLight: this.#isLight(position) });
		}
		const different = differing(this.#handle, objects, ({ position }) => position, "changed");
		const changed = different.filter((object) => !isRenewed(object));
		if (changed.length === 0) return;
		for (const { entry } of changed) setWritten(entry);
		const positions = new Uint32Array(changed.map(({ position }) => position));
		native.replaceTexts(
			this.#handle,
			positions,
			changed.map(({ entry }) => textOf(entry)),
		);
	}

	/** The manager is about to hold another session; entries that were handed out stay readable. */
	detach(): void {
		this.#sync();
		if (this.#untouched.includes(1)) this.#handle = native.snapshot(this.#handle);
	}

	/** The objects as they are now. */
	capture(): CapturedEntries {
		this.#sync();
		return {
			generation: this.#generation,
			list: this.#list.slice(),
			messages: this.#messages.slice(),
			untouched: this.#untouched.slice(),
			filled: this.#filled,
		};
	}

	/** The objects that a copy of the session has too: of several lines of an id the last one's. */
	handOver(): CapturedEntries {
		const captured = this.capture();
		for (const [position, entry] of captured.list.entries()) {
			const isLast = typeof entry?.id === "string" && native.find(this.#handle, entry.id) === position;
			if (!isLast) captured.list[position] = undefined;
		}
		return captured;
	}

	/** Positions are still those of a moment. */
	isAsCaptured({ generation }: CapturedEntries): boolean {
		return stampOf(this.#handle)[0] === generation;
	}

	/** All entries of a moment; `view` reads what was held then. */
	captured(state: CapturedEntries, view: Handle): SessionEntry[] {
		if (this.isAsCaptured(state)) return this.all().slice(0, state.list.length);
		const entries = new Entries(view);
		entries.#sync();
		for (const [position, entry] of state.list.entries()) {
			entries.#messages[position] = state.messages[position];
			// The message of one that was not touched is read by the object that made the entry.
			if (entry !== undefined && !hasAccessor(entry)) entries.#list[position] = entry;
		}
		return entries.all();
	}

	/** The entries of a manager that went back to what it held when they were captured. */
	static restored(handle: Handle, state: CapturedEntries): Entries {
		const entries = new Entries(handle);
		// Going back is a generation of its own, in which entries are at the places they had then.
		[entries.#generation] = stampOf(handle);
		entries.#list = state.list.slice();
		entries.#messages = state.messages.slice();
		entries.#filled = state.filled;
		entries.#untouched = new Uint8Array(state.untouched.length);
		for (const [position, entry] of entries.#list.entries()) {
			if (entry !== undefined) entries.#adopt(position, entry, state.untouched[position] === 1);
		}
		entries.#sync();
		return entries;
	}

	/** The entries of a manager's session now, with the objects of what it held before. */
	static successor(handle: Handle, before: CapturedEntries): Entries {
		const entries = new Entries(handle);
		entries.#sync();
		// It is the same session.
		if (entries.#generation === before.generation) return Entries.restored(handle, before);
		entries.#take(before);
		const parents = entries.#parents();
		for (const [position, entry] of entries.#list.entries()) {
			const parentId = parents[position] as string | null;
			if (entry === undefined || entry.parentId === parentId) continue;
			// It hangs on another entry now; where it was it stays what it was.
			entries.#list[position] = { ...entry, parentId };
			entries.#untouched[position] = 0;
		}
		const held = [...entries.#list.entries()].filter(([, entry]) => entry?.type === "compaction");
		entries.#parse<CompactionEntry>(
			native.texts,
			held.map(([position]) => position),
			(position, { firstKeptEntryId }) => {
				const entry = entries.#list[position] as CompactionEntry;
				if (entry.firstKeptEntryId === firstKeptEntryId) return;
				// What it keeps from was a label, which is not in the copy.
				entries.#list[position] = { ...entry, firstKeptEntryId };
				entries.#untouched[position] = 0;
			},
		);
		return entries;
	}

	/** The parents of all entries. */
	#parents(): (string | null | undefined)[] {
		const fields = JSON.parse(native.light(this.#handle, undefined, 0)) as (string | null | 0)[];
		const parents: (string | null | undefined)[] = [];
		const read: number[] = [];
		for (let at = 0; at < fields.length; ) {
			if (fields[at] === 0) {
				read.push(parents.length);
				parents.push(undefined);
				at++;
			} else {
				parents.push(fields[at + 1] as string | null);
				at += 3;
			}
		}
		this.#parse<SessionEntry>(native.texts, read, (position, entry) => {
			parents[position] = entry.parentId;
		});
		return parents;
	}
}

/** The message of the entry was not touched yet. */
function hasAccessor(entry: SessionEntry): boolean {
	return Object.getOwnPropertyDescriptor(entry, "message")?.get !== undefined;
}

/** What is an entry's own business, whatever it was given with. */
const BASE = new Set(["type", "id", "parentId", "timestamp"]);

function giveObjects(entry: SessionEntry, given: Given = {}): void {
	for (const [key, value] of Object.entries(given)) {
		if (typeof value !== "object" || value === null || BASE.has(key)) continue;
		(entry as unknown as Given)[key] = value;
	}
}
