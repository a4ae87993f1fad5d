import { type ContextPlan, itemOf } from "./entries";
import { toJson } from "./errors";
import { buildMessage } from "./messages";
import { native } from "./native";
import { contentOf, type SessionStorage } from "./storage";
import type {
	CompactionEntry,
	FileEntry,
	SessionContext,
	SessionEntry,
	SessionHeader,
	SessionMessageEntry,
} from "./types";

/** The version this library writes. */
export const CURRENT_SESSION_VERSION = 3;

/** Headers and entries of a session's text, as they stand. */
export function parseSessionEntries(content: string): FileEntry[] {
	return JSON.parse(native.parseEntries(content)) as FileEntry[];
}

/** A session's header, then its entries, neither migrated nor resolved; empty when there is no session. */
export async function loadEntriesFromFile(path: string, storage?: SessionStorage): Promise<FileEntry[]> {
	const content = await contentOf(storage, path);
	if (content === null) return [];
	return JSON.parse(content === undefined ? native.loadFile(path) : native.loadEntries(content)) as FileEntry[];
}

/** The last compaction among entries. */
export function getLatestCompactionEntry(entries: SessionEntry[]): CompactionEntry | null {
	return (entries.findLast((entry) => entry.type === "compaction") as CompactionEntry | undefined) ?? null;
}

const NO_HEADER: SessionHeader = { type: "session", id: "none", timestamp: "", cwd: "" };

/** Brings entries to the current version, in place. */
export function migrateSessionEntries(entries: FileEntry[]): void {
	const header = entries.find((entry): entry is SessionHeader => entry.type === "session");
	if ((header?.version ?? 1) >= CURRENT_SESSION_VERSION) return;
	const rest = entries.filter((entry): entry is SessionEntry => entry.type !== "session");
	const lines = [header ?? NO_HEADER, ...rest].map((entry) => toJson(entry));
	const migrated = JSON.parse(native.migrateEntries(lines.join("\n"))) as SessionEntry[];
	migrated.forEach((entry, at) => {
		become(rest[at] as object, entry);
	});
	if (header !== undefined) header.version = CURRENT_SESSION_VERSION;
}

/** Makes an object say what another does, keeping it and the objects in it. */
function become(object: object, wanted: object): void {
	const target = object as Record<string, unknown>;
	for (const key of Object.keys(target)) {
		if (!(key in wanted) && target[key] !== undefined) delete target[key];
	}
	for (const [key, value] of Object.entries(wanted)) {
		const own = target[key];
		if (isObject(own) && isObject(value)) become(own, value);
		else if (own !== value) target[key] = value;
	}
}

function isObject(value: unknown): value is object {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * What the model is sent from a leaf: of an id, of the last entry when there is none, or from before
 * the first one with `null`.
 */
export function buildSessionContext(
	entries: SessionEntry[],
	leafId?: string | null,
	byId?: Map<string, SessionEntry>,
): SessionContext {
	const known = byId === undefined ? entries : [...new Set([...entries, ...byId.values()])];
	const usable = known.filter((entry) => typeof entry?.type === "string" && (entry.type as string) !== "session");
	const lines = usable.map((entry) => toJson(outline(entry)));
	lines.unshift(JSON.stringify({ ...NO_HEADER, version: CURRENT_SESSION_VERSION }));
	const last = entries.at(-1)?.id;
	const plan = native.planContext(lines.join("\n"), leafOf(leafId, usable) ?? last, leafId === null);
	const { state, items } = JSON.parse(plan) as ContextPlan;
	state.messages = items.map((item) => {
		const [position, kind] = itemOf(item);
		const entry = usable[position] as SessionEntry;
		return kind === 0 ? (entry as SessionMessageEntry).message : buildMessage(kind, entry);
	});
	return state;
}

function leafOf(leafId: string | null | undefined, entries: SessionEntry[]): string | undefined {
	return leafId && entries.some((entry) => entry.id === leafId) ? leafId : undefined;
}

/** What the plan of a context depends on: not the contents of messages. */
function outline(entry: SessionEntry): object {
	const { type, id, parentId, timestamp } = entry;
	switch (type) {
		case "message": {
			const message: unknown = entry.message;
			if (!isObject(message)) return entry;
			const { role, provider, model } = message as Record<string, unknown>;
			return { type, id, parentId, timestamp, message: { role, provider, model } };
		}
		case "custom":
		case "custom_message":
		case "session_init":
		case "label":
			return { type, id, parentId, timestamp };
		default:
			return entry;
	}
}
