import * as path from "node:path";
import { native } from "./native";
import type { BlobPutResult } from "./types";

/** Large data that entries refer to by the SHA-256 of its bytes: one file a blob. */
export class BlobStore {
	constructor(readonly dir: string) {}

	/** Puts bytes into the store, where they survive a power cut; what is there already is not written again. */
	async put(data: Uint8Array): Promise<BlobPutResult> {
		const hash = native.blobPut(this.dir, data);
		return {
			hash,
			path: path.join(this.dir, hash),
			get ref() {
				return `blob:sha256:${hash}`;
			},
		};
	}

	/** The bytes of a blob; `null` when there is none, or it is damaged. */
	async get(hash: string): Promise<Buffer | null> {
		return native.blobGet(this.dir, hash);
	}

	/** Whether the store has a blob of that hash. */
	async has(hash: string): Promise<boolean> {
		return native.blobHas(this.dir, hash);
	}
}

/** The text is a reference to a blob: `blob:sha256:` and 64 lowercase hex digits. */
export function isBlobRef(data: string): boolean {
	return native.blobHash(data) !== null;
}

/** The hash in a reference; `null` for any other text. */
export function parseBlobRef(data: string): string | null {
	return native.blobHash(data);
}

/** The text is a `data:` URL of an image in base64. */
export function isImageDataUrl(data: string): boolean {
	return native.isImageDataUrl(data);
}

/** Puts an image's bytes into the store, and gives the reference. A reference stays one. */
export async function externalizeImageData(blobStore: BlobStore, base64Data: string): Promise<string> {
	if (isBlobRef(base64Data)) return base64Data;
	return (await blobStore.put(Buffer.from(base64Data, "base64"))).ref;
}

/** Puts an image's URL into the store, and gives the reference. A reference stays one. */
export async function externalizeImageDataUrl(blobStore: BlobStore, dataUrl: string): Promise<string> {
	if (isBlobRef(dataUrl)) return dataUrl;
	return (await blobStore.put(Buffer.from(dataUrl))).ref;
}

/** The base64 that a reference stands for; any other text as it is, and a reference to no blob too. */
export async function resolveImageData(blobStore: BlobStore, data: string): Promise<string> {
	return (await blob(blobStore, data))?.toString("base64") ?? data;
}

/** The URL that a reference stands for; any other text as it is, and a reference to no blob too. */
export async function resolveImageDataUrl(blobStore: BlobStore, data: string): Promise<string> {
	return (await blob(blobStore, data))?.toString("utf8") ?? data;
}

async function blob(blobStore: BlobStore, data: string): Promise<Buffer | null> {
	const hash = parseBlobRef(data);
	return hash === null ? null : blobStore.get(hash);
}
