"""The live page: a server of its own that reads run folders and asks for what viewers want.

It knows of a run what stands in its folder (`store`), and asks a run for something by a file there
(`store.wishes`): a run does not know how many look, nor whether anybody does.
"""
