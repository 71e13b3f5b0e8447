// Files that go with the next prompt: uploaded as soon as they are given, taken off again when
// they are not wanted.
import { useEffect, useRef, useState } from "react";
import { asProblem, isAbort, type Problem } from "../../api/problem";
import { removeFile, uploadFile } from "../../session/actions";

export interface AttachedFile {
  key: number;
  name: string;
  size: number;
  /** The daemon's id, once it has it. */
  id?: string;
  problem?: Problem;
  /** The address of a picture, to be looked at. */
  preview?: string;
}

export function useAttachments(session: string) {
  const [files, setFiles] = useState<AttachedFile[]>([]);
  const next = useRef(0);
  const uploads = useRef(new Map<number, AbortController>());
  const previews = useRef(new Set<string>());

  useEffect(() => {
    const urls = previews.current;
    return () => urls.forEach((url) => URL.revokeObjectURL(url));
  }, []);

  const change = (key: number, changes: Partial<AttachedFile>) =>
    setFiles((all) => all.map((file) => (file.key === key ? { ...file, ...changes } : file)));

  const add = (given: Iterable<File>) => {
    for (const file of given) {
      const key = next.current++;
      const stop = new AbortController();
      uploads.current.set(key, stop);
      const preview = /^image\/(png|jpeg|gif|webp)$/.test(file.type) ? URL.createObjectURL(file) : undefined;
      if (preview) previews.current.add(preview);
      setFiles((all) => [...all, { key, name: file.name || "pasted", size: file.size, preview }]);
      uploadFile(session, file, stop.signal).then(
        (attachment) => change(key, { id: attachment.id, name: attachment.name }),
        (error: unknown) => {
          if (!isAbort(error)) change(key, { problem: asProblem(error) });
        },
      );
    }
  };

  const remove = (file: AttachedFile) => {
    uploads.current.get(file.key)?.abort();
    setFiles((all) => all.filter((each) => each.key !== file.key));
    // If it cannot be removed it goes with the session.
    if (file.id !== undefined) removeFile(session, file.id).catch(() => undefined);
  };

  /** Takes them off: they belong to a prompt now. */
  const clear = () => setFiles([]);

  /** Puts them back: that prompt could not be sent. */
  const restore = (back: AttachedFile[]) => setFiles((all) => [...back, ...all]);

  return { files, add, remove, clear, restore, isUploading: files.some((file) => file.id === undefined && !file.problem) };
}
