"""Writes a tiny model file for llama.cpp: one layer, random weights, a vocabulary of bytes and a
few words. It says nothing of sense, but a real server loads it and streams from it.

Use: tiny_model.py FILE
"""

import sys

import gguf
import numpy

EMBEDDING, HEADS, FEED_FORWARD, CONTEXT = 32, 2, 64, 16384
WORDS = "the model says a word and then another one because it is so small".split()


def vocabulary():
    special = [("<unk>", gguf.TokenType.UNKNOWN), ("<s>", gguf.TokenType.CONTROL), ("</s>", gguf.TokenType.CONTROL)]
    each_byte = [(f"<0x{byte:02X}>", gguf.TokenType.BYTE) for byte in range(256)]
    words = [("\u2581" + word, gguf.TokenType.NORMAL) for word in sorted(set(WORDS))]
    return special + each_byte + words


def main(path):
    tokens = vocabulary()
    n_words = len(set(WORDS))
    random = numpy.random.default_rng(6)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(EMBEDDING)
    writer.add_block_count(1)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(EMBEDDING // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list([text.encode() for text, _ in tokens])
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types([kind for _, kind in tokens])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)

    def add(name, *shape, scale=0.2):
        writer.add_tensor(name, (random.standard_normal(shape) * scale).astype(numpy.float32))

    add("token_embd.weight", len(tokens), EMBEDDING)
    for name in ["attn_norm", "ffn_norm"]:
        writer.add_tensor(f"blk.0.{name}.weight", numpy.ones(EMBEDDING, dtype=numpy.float32))
    for name in ["attn_q", "attn_k", "attn_v", "attn_output"]:
        add(f"blk.0.{name}.weight", EMBEDDING, EMBEDDING)
    add("blk.0.ffn_gate.weight", FEED_FORWARD, EMBEDDING)
    add("blk.0.ffn_up.weight", FEED_FORWARD, EMBEDDING)
    add("blk.0.ffn_down.weight", EMBEDDING, FEED_FORWARD)
    writer.add_tensor("output_norm.weight", numpy.ones(EMBEDDING, dtype=numpy.float32))
    # Only words have weights: what is said are words, hardly ever bytes or an end.
    output = numpy.zeros((len(tokens), EMBEDDING), dtype=numpy.float32)
    output[-n_words:] = random.standard_normal((n_words, EMBEDDING)) * 4.0
    writer.add_tensor("output.weight", output)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


main(sys.argv[1])
