-- Reads the whole keyspace of a small server at one moment: {name, type, PEXPIRETIME, value} for each key.
-- ARGV: how many keys, how many elements of each, how many bytes of each name, string and element.
local keys, elements, bytes = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local names, cursor = {}, '0'
repeat
  local page = redis.call('SCAN', cursor, 'COUNT', 1000)
  cursor = page[1]
  for _, name in ipairs(page[2]) do names[#names + 1] = name end
until cursor == '0' or #names > 10 * keys
-- What one look reads at most, in bytes, however many and however long the values are; of the rest only the names.
local left = 1048576
local function short(value)
  if type(value) == 'table' then
    for n = 1, #value do value[n] = short(value[n]) end
    return value
  end
  -- Long values take time to read, though little of them is shown.
  left = left - math.min(#value, 64 * bytes)
  return string.sub(value, 1, bytes)
end
-- SCAN's order is arbitrary; a learner's is not.
table.sort(names)
local seen, last = {}, nil
for _, name in ipairs(names) do
  if #seen == keys then break end
  -- SCAN may name a key twice.
  if name ~= last then
    -- A node of a cluster tells nothing of a key whose slot is another's by now.
    local kind, value = redis.pcall('TYPE', name).ok or 'moved', ''
    if kind == 'moved' then
    elseif left <= 0 then value = kind == 'string' and '…' or { '…', '…' }
    elseif kind == 'string' then value = redis.call('GETRANGE', name, 0, bytes - 1)
    elseif kind == 'hash' then value = redis.call('HSCAN', name, '0', 'COUNT', elements)[2]
    elseif kind == 'list' then value = redis.call('LRANGE', name, 0, elements - 1)
    elseif kind == 'set' then value = redis.call('SSCAN', name, '0', 'COUNT', elements)[2]
    elseif kind == 'stream' then value = redis.call('XRANGE', name, '-', '+', 'COUNT', elements)
    elseif kind == 'zset' then value = redis.call('ZRANGE', name, 0, elements - 1, 'WITHSCORES')
    end
    seen[#seen + 1] = { short(name), kind, kind == 'moved' and -1 or redis.call('PEXPIRETIME', name), short(value) }
  end
  last = name
end
return seen
