import * as fs from "node:fs";
import * as path from "node:path";
import { effective, type LeaflogOptions, nativeOptions } from "./config";
import { native, type StorageHandle } from "./native";
import { isNative, type SessionStorage } from "./storage";
import type { SessionInfo } from "./types";

export interface ListOptions extends LeaflogOptions {
	/** Is told now and then how many files of how many are done. What it throws stops the listing. */
	onProgress?: (done: number, total: number) => void;
	/** Stops the listing. */
	signal?: AbortSignal;
}

/** A session that was worked on lately. */
export interface RecentSessionInfo {
	path: string;
	/** Milliseconds since 1970. */
	mtime: number;
	/** Its title, else the first text of a user, else its id, else the name of its file: one line. */
	fullName: string;
	/** The same, cut to 40 units. */
	name: string;
	/** How long ago, in words. */
	readonly timeAgo: string;
}

export interface ResolvedSessionMatch {
	session: SessionInfo;
	scope: "local" | "global";
}

interface NativeInfo {
	path: string;
	id: string;
	cwd: string;
	title: string | null;
	parentSessionPath: string | null;
	created: number | null;
	modified: number;
	messageCount: number;
	firstMessage: string;
}

/** How often a listing is asked how far it is, in milliseconds. */
const OFTEN = 25;
/** What is read of a file to find its header. */
const PREFIX = 64 << 10;

interface Folders {
	sessions: string;
	blobs: string;
	historyDb: string;
	project: string[];
}

export function folders(options: LeaflogOptions, cwd?: string): Folders {
	return JSON.parse(native.folders(nativeOptions(options, undefined), cwd)) as Folders;
}

export async function list(
	cwd: string | undefined,
	sessionDir: string | undefined,
	storage: SessionStorage | undefined,
	given: ListOptions | undefined,
): Promise<SessionInfo[]> {
	const { onProgress, signal, ...rest } = given ?? {};
	signal?.throwIfAborted();
	const options = effective(rest);
	const place = await readable(storage, () => dirsOf(options, cwd, sessionDir), false);
	const progress = native.progressNew();
	const listing = native.list(cwd, nativeOptions(options, sessionDir), place, progress);
	let thrown: { error: unknown } | undefined;
	const tell = () => {
		const [done, total] = native.progressGet(progress);
		try {
			if (thrown === undefined) onProgress?.(done, total);
		} catch (error) {
			thrown = { error };
			native.progressStop(progress);
		}
	};
	const stop = () => native.progressStop(progress);
	const timer = onProgress && setInterval(tell, OFTEN);
	signal?.addEventListener("abort", stop);
	try {
		const { sessions } = JSON.parse(await listing) as { sessions: NativeInfo[] };
		tell();
		if (thrown !== undefined) throw thrown.error;
		signal?.throwIfAborted();
		return sessions.map((session) => info(session, place));
	} finally {
		clearInterval(timer);
		signal?.removeEventListener("abort", stop);
	}
}

/** The latest sessions in a folder, the newest first. */
export async function getRecentSessions(
	sessionDir: string,
	limit = 3,
	storage?: SessionStorage,
): Promise<RecentSessionInfo[]> {
	const most = Number.isFinite(limit)
		? Math.min(Math.max(Math.floor(limit), 0), 0xffffffff)
		: limit > 0
			? 0xffffffff
			: 0;
	const place = await readable(storage, () => [sessionDir], true);
	const found = await native.recentSessions(sessionDir, most, nativeOptions(effective(undefined), undefined), place);
	return (JSON.parse(found) as Omit<RecentSessionInfo, "timeAgo">[]).map((session) => ({
		...session,
		get timeAgo() {
			return native.timeAgo(session.mtime);
		},
	}));
}

/** The newest session in a folder; `null` when there is none. */
export async function findMostRecentSession(sessionDir: string, storage?: SessionStorage): Promise<string | null> {
	const [session] = await getRecentSessions(sessionDir, 1, storage);
	return session?.path ?? null;
}

/**
 * The session that an argument means, by the beginning of its id or of its file's name: one of the
 * project, else, unless a folder is given, one of all.
 */
export async function resolveResumableSession(
	sessionArg: string,
	cwd: string,
	sessionDir?: string,
	storage?: SessionStorage,
	given?: LeaflogOptions,
): Promise<ResolvedSessionMatch | undefined> {
	const options = effective(given);
	const all = () => [
		...dirsOf(options, cwd, sessionDir),
		...(sessionDir === undefined ? dirsOf(options, undefined, undefined) : []),
	];
	const place = await readable(storage, all, false);
	const found = await native.resolveSession(sessionArg, cwd, nativeOptions(options, sessionDir), place);
	const match = JSON.parse(found) as { session: NativeInfo; scope: "local" | "global" } | null;
	return match === null ? undefined : { session: info(match.session, place), scope: match.scope };
}

/** The folders that sessions are looked for in. */
function dirsOf(options: LeaflogOptions, cwd: string | undefined, sessionDir: string | undefined): string[] {
	const { sessions, project } = folders(options, cwd);
	if (cwd === undefined) return [sessions];
	if (sessionDir === undefined) return project;
	const dir = path.resolve(sessionDir);
	// By its other names a default folder is beside it.
	const names = project.map((known) => path.basename(known));
	return names.includes(path.basename(dir)) ? names.map((name) => path.join(path.dirname(dir), name)) : [dir];
}

/**
 * A storage that native code can look through: of one of the caller's own a copy of what there is in
 * folders, or of the beginnings of that.
 */
export async function readable(
	storage: SessionStorage | undefined,
	dirs: () => string[],
	prefixes: boolean,
): Promise<StorageHandle | undefined> {
	if (storage === undefined || isNative(storage)) return storage?.handle;
	const loaded = native.loadedNew();
	for (const dir of new Set(dirs())) {
		for (const file of storage.listFilesSync(dir, "*.jsonl")) {
			try {
				const { mtimeMs } = storage.statSync(file);
				const text = await (prefixes ? storage.readTextPrefix(file, PREFIX) : storage.readText(file));
				native.loadedPut(loaded, file, text, mtimeMs);
			} catch {
				// A file that cannot be read costs itself only.
			}
		}
	}
	return loaded;
}

function info(session: NativeInfo, storage: StorageHandle | undefined): SessionInfo {
	const { path: file, id, cwd, title, parentSessionPath, created, modified, messageCount, firstMessage } = session;
	let text: string | undefined;
	return {
		path: file,
		id,
		cwd,
		title: title ?? undefined,
		parentSessionPath: parentSessionPath ?? undefined,
		created: new Date(created ?? Number.NaN),
		modified: new Date(modified),
		messageCount,
		firstMessage: firstMessage || "(no messages)",
		/** As large as the session's texts are: read when somebody searches in it. */
		get allMessagesText() {
			text ??= textOf(file, storage);
			return text;
		},
	};
}

function textOf(file: string, storage: StorageHandle | undefined): string {
	if (storage === undefined && !fs.existsSync(file)) return "";
	return JSON.parse(native.allMessagesText(file, storage)) as string;
}
